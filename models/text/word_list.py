"""Search for many words in a text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from models.text.word_edges import parts


class WordList:
    """A list of words; the time to find them hardly grows with their number."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._first = frozenset(word[0] for word in self._words)
        self._longest = max(map(len, self._words), default=0)
        self._within: list[int] = []
        """For each word, the index of the longest other word that it begins with, or -1."""
        for number, word in enumerate(self._words):
            other = number - 1
            while other >= 0 and not word.startswith(self._words[other]):
                other = self._within[other]
            self._within.append(other)

    def all_in(self, text: str) -> dict[str, None]:
        """Return the words that begin at a word boundary of a text, whatever follows them."""
        found = dict[str, None]()
        for at in (at for at, first in enumerate(text) if first in self._first and parts(text, at)):
            for word in self.at(text, at):
                if word in found:
                    break  # and so are all its prefixes
                found[word] = None
        return found

    def at(self, text: str, at: int) -> Iterator[str]:
        """Yield the words that a text has at a place, longest first."""
        if text[at] not in self._first:
            return
        # Words that the text begins with sort before it, and the last of them is the longest, or begins with that.
        number = bisect_right(self._words, text[at : at + self._longest]) - 1
        while number >= 0:
            if text.startswith(self._words[number], at):
                yield self._words[number]
            number = self._within[number]
