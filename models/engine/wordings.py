"""What a model says for terms alone, kept for the next sentence that has them."""

from collections import OrderedDict
from typing import Final

from models.engine.requests import Options

_MOST: Final = 10_000


class Wordings:
    """Of the terms that were asked for last, by how they were translated."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[Options, str], str] = OrderedDict()

    def known(self, options: Options, source: str) -> str | None:
        """What is said for a term; none where it has not been asked for."""
        if (options, source) in self._said:
            self._said.move_to_end((options, source))
        return self._said.get((options, source))

    def learn(self, options: Options, source: str, wording: str) -> None:
        """Keep what is said for a term."""
        self._said[options, source] = wording
        if len(self._said) > _MOST:
            self._said.popitem(last=False)
