"""Requests that are answered one by one while others come and go. Loads without torch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)
_Given_co = TypeVar("_Given_co", covariant=True)


class Flow(Protocol[_Asked_contra, _Given_co]):
    """Work on many requests, step by step; the result for one depends on nothing else that is in the flow."""

    @property
    def running(self) -> int:
        """Requests that have no result yet."""

    def add(self, requests: Mapping[int, _Asked_contra]) -> None:
        """Take requests, each by a number that its caller knows it by; none of them is in the flow."""

    def step(self) -> Sequence[tuple[int, _Given_co]]:
        """Go on by a step; gives what is done with it. There must be something running."""

    def drop(self, keys: Collection[int]) -> None:
        """Go on without these requests; unknown ones are none."""


class AtOnce(Generic[Request, Result]):
    """A flow over what has no steps: so many requests are done in one."""

    def __init__(self, work: Callable[[Sequence[Request]], Sequence[Result]], most: int) -> None:
        """Have `work` done, which gives a result for each of `most` requests or fewer: others wait for it."""
        self._work = work
        self._most = most
        self._waiting: dict[int, Request] = {}

    @property
    def running(self) -> int:
        """Requests that have no result yet."""
        return len(self._waiting)

    def add(self, requests: Mapping[int, Request]) -> None:
        """Take requests."""
        self._waiting |= requests

    def step(self) -> list[tuple[int, Result]]:
        """Do those that came first."""
        keys = list(islice(self._waiting, self._most))
        requests = [self._waiting.pop(key) for key in keys]
        return list(zip(keys, self._work(requests), strict=True))

    def drop(self, keys: Collection[int]) -> None:
        """Forget what has not been begun, and that is all that is here."""
        for key in keys:
            self._waiting.pop(key, None)


def run(flow: Flow[Request, Result], requests: Sequence[Request]) -> list[Result]:
    """The results of requests, in their order, by a flow that has nothing else to do."""
    flow.add(dict(enumerate(requests)))
    results: dict[int, Result] = {}
    while flow.running:
        results |= flow.step()
    return [results[key] for key in range(len(requests))]
