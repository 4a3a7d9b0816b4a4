"""Requests in text, in a flow of the parts that they are divided into."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from models.engine.attempts import Attempts
from models.engine.flow import Flow
from models.engine.preparation import Prepared
from models.engine.requests import Translation, TranslationRequest
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import Hypothesis


@dataclass
class _Divided:
    """A request, the tries for its parts, and those that are in the flow by their numbers."""

    key: int
    prepared: Prepared
    parts: list[Attempts]
    running: set[int] = field(default_factory=set)


class TextFlow:
    """Translates requests as their parts are done; satisfies `models.engine.flow.Flow`."""

    def __init__(
        self,
        parts: Flow[TokenizedRequest, list[Hypothesis]],
        prepare: Callable[[Sequence[TranslationRequest]], Sequence[Prepared]],
        attempts: Callable[[Prepared], list[Attempts]],
        translation: Callable[[Prepared, Sequence[Attempts]], Translation],
    ) -> None:
        """Have `prepare` divide requests, `parts` translate them in `attempts`, and `translation` join the best."""
        self._parts = parts
        self._prepare = prepare
        self._attempts = attempts
        self._translation = translation
        self._next = 0
        self._requests: dict[int, _Divided] = {}
        self._by_part: dict[int, tuple[_Divided, Attempts]] = {}

    @property
    def running(self) -> int:
        """Requests that have no translation yet."""
        return len(self._requests)

    def add(self, requests: Mapping[int, TranslationRequest]) -> None:
        """Take requests.

        Raises:
            SentenceTooLongError: one of them cannot be translated; then none is taken.
        """
        parts: dict[int, TokenizedRequest] = {}
        prepared = self._prepare(list(requests.values()))
        added = {key: _Divided(key, one, self._attempts(one)) for key, one in zip(requests, prepared, strict=True)}
        for divided in added.values():
            parts |= {self._numbered(divided, part): part.request for part in divided.parts}
        self._parts.add(parts)
        self._requests |= added

    def step(self) -> list[tuple[int, Translation]]:
        """Go on by a step; gives the requests that are done with it.

        To place marks takes longer than many steps, and others may have come meanwhile: so one a step, of those that
        wait for it.
        """
        again: dict[int, TokenizedRequest] = {}
        for number, hypotheses in self._parts.step() if self._parts.running else ():
            divided, part = self._by_part.pop(number)
            divided.running.remove(number)
            if part.take(hypotheses):
                again[self._numbered(divided, part)] = part.request
        if again:
            self._parts.add(again)
        done = [one for one in self._requests.values() if not one.running]
        marked = [one for one in done if one.prepared.marked]
        finished = [one for one in done if not one.prepared.marked] + marked[:1]
        for one in finished:
            del self._requests[one.key]
        return [(one.key, self._translation(one.prepared, one.parts)) for one in finished]

    def drop(self, keys: Collection[int]) -> None:
        """Go on without these requests."""
        left = [one for key in keys if (one := self._requests.pop(key, None)) is not None]
        numbers = [number for one in left for number in one.running]
        for number in numbers:
            del self._by_part[number]
        self._parts.drop(numbers)

    def _numbered(self, divided: _Divided, part: Attempts) -> int:
        """A number of its own for what is tried now."""
        number, self._next = self._next, self._next + 1
        divided.running.add(number)
        self._by_part[number] = divided, part
        return number
