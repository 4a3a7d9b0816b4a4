"""Words that are found where a text has them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from models.data.word_edges import parts


class WordList:
    """Any number of them: the time that it takes to find them hardly grows with that."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._first = frozenset(word[0] for word in self._words)
        self._longest = max(map(len, self._words), default=0)
        self._within: list[int] = []
        """For each word the longest of the others that it begins with, or -1."""
        for number, word in enumerate(self._words):
            other = number - 1
            while other >= 0 and not word.startswith(self._words[other]):
                other = self._within[other]
            self._within.append(other)

    def all_in(self, text: str) -> dict[str, None]:
        """Those that a text has anywhere, whatever follows."""
        found = dict[str, None]()
        for at in (at for at, first in enumerate(text) if first in self._first and parts(text, at)):
            for word in self.at(text, at):
                if word in found:
                    break  # as are all that it begins with
                found[word] = None
        return found

    def at(self, text: str, at: int) -> Iterator[str]:
        """Those that a text has at a place, the longest first."""
        if text[at] not in self._first:
            return
        # What the text begins with is before it, and of those the last is the longest, or begins with that.
        number = bisect_right(self._words, text[at : at + self._longest]) - 1
        while number >= 0:
            if text.startswith(self._words[number], at):
                yield self._words[number]
            number = self._within[number]
