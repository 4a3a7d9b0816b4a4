"""A cache of a model's own wordings of terms, for the next sentences that have the same terms."""

from collections import OrderedDict
from typing import Final

from models.engine.requests import Options

_MOST: Final = 10_000


class Wordings:
    """The wordings of the terms that were asked for last, by term and by translation options."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[Options, str], str] = OrderedDict()

    def known(self, options: Options, source: str) -> str | None:
        """Return the wording of a term; None if it has not been asked for."""
        if (options, source) in self._said:
            self._said.move_to_end((options, source))
        return self._said.get((options, source))

    def learn(self, options: Options, source: str, wording: str) -> None:
        """Keep the wording of a term."""
        self._said[options, source] = wording
        if len(self._said) > _MOST:
            self._said.popitem(last=False)
