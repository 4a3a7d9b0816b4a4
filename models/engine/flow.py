"""Flows: work on requests that are answered one by one while others come and go. Imports no torch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)
_Given_co = TypeVar("_Given_co", covariant=True)


class Flow(Protocol[_Asked_contra, _Given_co]):
    """Work on many requests, step by step; the result for one does not depend on the others in the flow."""

    @property
    def running(self) -> int:
        """Number of requests that have no result yet."""

    def add(self, requests: Mapping[int, _Asked_contra]) -> None:
        """Add requests, each under a key of the caller's choice that is not in the flow yet.

        Raises:
            RequestError: there can be no result for one of them; then none is added.
        """

    def step(self) -> Sequence[tuple[int, _Given_co]]:
        """Go on by a step; return the results that are done with it. Something must be running."""

    def drop(self, keys: Collection[int]) -> None:
        """Drop these requests; keys that are not in the flow are ignored."""


class AtOnce(Generic[Request, Result]):
    """A flow over work that has no steps: each step completes up to `most` requests."""

    def __init__(self, work: Callable[[Sequence[Request]], Sequence[Result]], most: int) -> None:
        """Make a flow of `work`, which returns a result for each of at most `most` requests, while others wait."""
        self._work = work
        self._most = most
        self._waiting: dict[int, Request] = {}

    @property
    def running(self) -> int:
        """Number of requests that have no result yet."""
        return len(self._waiting)

    def add(self, requests: Mapping[int, Request]) -> None:
        """Add requests."""
        self._waiting |= requests

    def step(self) -> list[tuple[int, Result]]:
        """Complete the requests that came first."""
        keys = list(islice(self._waiting, self._most))
        requests = [self._waiting.pop(key) for key in keys]
        return list(zip(keys, self._work(requests), strict=True))

    def drop(self, keys: Collection[int]) -> None:
        """Drop requests; between steps, none of those that are here has been begun."""
        for key in keys:
            self._waiting.pop(key, None)


def run(flow: Flow[Request, Result], requests: Sequence[Request]) -> list[Result]:
    """Run requests through an otherwise empty flow, and return their results in order."""
    flow.add(dict(enumerate(requests)))
    results: dict[int, Result] = {}
    while flow.running:
        results |= flow.step()
    return [results[key] for key in range(len(requests))]
