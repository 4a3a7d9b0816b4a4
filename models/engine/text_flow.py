"""Requests in text, in a flow of the parts that they are divided into."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from models.engine.flow import Flow
from models.engine.preparation import Prepared
from models.engine.requests import Translation, TranslationRequest
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import Hypothesis


@dataclass
class _Divided:
    """A request with its parts by their numbers, and what has been found for them."""

    key: int
    prepared: Prepared
    numbers: range
    found: dict[int, list[Hypothesis]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether all parts are."""
        return len(self.found) == len(self.numbers)


class TextFlow:
    """Translates requests as their parts are done; satisfies `models.engine.flow.Flow`."""

    def __init__(
        self,
        parts: Flow[TokenizedRequest, list[Hypothesis]],
        prepare: Callable[[Sequence[TranslationRequest]], Sequence[Prepared]],
        translation: Callable[[Prepared, list[list[Hypothesis]]], Translation],
    ) -> None:
        """Have `prepare` divide requests, `parts` translate them, and `translation` join what was found."""
        self._parts = parts
        self._prepare = prepare
        self._translation = translation
        self._next = 0
        self._requests: dict[int, _Divided] = {}
        self._by_part: dict[int, _Divided] = {}

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
        for key, one in zip(requests, prepared, strict=True):
            numbers = range(self._next, self._next + len(one.parts))
            self._next = numbers.stop
            parts |= zip(numbers, one.parts, strict=True)
            self._requests[key] = divided = _Divided(key, one, numbers)
            self._by_part |= dict.fromkeys(numbers, divided)
        self._parts.add(parts)

    def step(self) -> list[tuple[int, Translation]]:
        """Go on by a step; gives the requests that are done with it.

        To place marks takes longer than many steps, and others may have come meanwhile: so one a step, of those that
        wait for it.
        """
        for number, hypotheses in self._parts.step() if self._parts.running else ():
            self._by_part.pop(number).found[number] = hypotheses
        done = [one for one in self._requests.values() if one.done]
        marked = [one for one in done if one.prepared.marked]
        finished = [one for one in done if not one.prepared.marked] + marked[:1]
        for one in finished:
            del self._requests[one.key]
        return [
            (one.key, self._translation(one.prepared, [one.found[number] for number in one.numbers]))
            for one in finished
        ]

    def drop(self, keys: Collection[int]) -> None:
        """Go on without these requests."""
        left = [one for key in keys if (one := self._requests.pop(key, None)) is not None]
        numbers = [number for one in left for number in one.numbers if number not in one.found]
        for number in numbers:
            del self._by_part[number]
        self._parts.drop(numbers)
