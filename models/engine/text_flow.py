"""A flow of requests in text, on top of a flow of the parts that they are divided into."""

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
    """A request, the attempts for its parts, and the numbers of those that are in the flow."""

    key: int
    prepared: Prepared
    parts: list[Attempts]
    running: set[int] = field(default_factory=set)


class TextFlow:
    """Translates requests in parts, and joins them when all are done; satisfies `models.engine.flow.Flow`."""

    def __init__(
        self,
        parts: Flow[TokenizedRequest, list[Hypothesis]],
        prepare: Callable[[Sequence[TranslationRequest]], Sequence[Prepared]],
        attempts: Callable[[Prepared], list[Attempts]],
        translation: Callable[[Prepared, Sequence[Attempts]], Translation],
    ) -> None:
        """Have `prepare` divide requests, `parts` run the `attempts` for each, and `translation` join the best."""
        self._parts = parts
        self._prepare = prepare
        self._attempts = attempts
        self._translation = translation
        self._next = 0
        self._requests: dict[int, _Divided] = {}
        self._by_part: dict[int, tuple[_Divided, Attempts]] = {}

    @property
    def running(self) -> int:
        """Number of requests that have no translation yet."""
        return len(self._requests)

    def add(self, requests: Mapping[int, TranslationRequest]) -> None:
        """Add requests.

        Raises:
            SentenceTooLongError: one of them cannot be translated; then none is added.
        """
        parts: dict[int, TokenizedRequest] = {}
        prepared = self._prepare(list(requests.values()))
        added = {key: _Divided(key, one, self._attempts(one)) for key, one in zip(requests, prepared, strict=True)}
        for divided in added.values():
            parts |= {self._numbered(divided, part): part.request for part in divided.parts}
        self._parts.add(parts)
        self._requests |= added

    def step(self) -> list[tuple[int, Translation]]:
        """Go on by a step; return the translations that are done with it.

        Placing marks takes longer than many steps, and other requests may arrive meanwhile: so at most one of the
        requests that wait for that is finished per step.
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
        """Drop these requests."""
        left = [one for key in keys if (one := self._requests.pop(key, None)) is not None]
        numbers = [number for one in left for number in one.running]
        for number in numbers:
            del self._by_part[number]
        self._parts.drop(numbers)

    def _numbered(self, divided: _Divided, part: Attempts) -> int:
        """Return a new number for the current attempt at a part."""
        number, self._next = self._next, self._next + 1
        divided.running.add(number)
        self._by_part[number] = divided, part
        return number
