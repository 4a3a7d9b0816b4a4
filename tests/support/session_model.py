"""A reference model of a session, without Redis, time or concurrency, that the Lua scripts must agree with."""

from dataclasses import dataclass, field

WINDOW, HORIZON, MOST = 2, 4, 12


class RefusedError(Exception):
    """The operation is refused; the argument is the code of the error."""


@dataclass
class Sentence:
    """A stored sentence and its state."""

    text: str
    key: str
    answer: str | None = None
    holder: str | None = None
    lease_holds: bool = False
    asking: set[str] = field(default_factory=set)
    """Tokens of the callers that wait for the holder."""
    failed: bool = False


@dataclass
class SessionModel:
    """A session whose leases hold either for ever or not at all."""

    next: int = 0
    kept: dict[int, Sentence] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)

    def append(
        self, text: str, position: int | None, key: str | None, token: str, *, holds: bool, least: int = 0
    ) -> "Found":
        """As `ContextStore.append`."""
        name = f"token:{token}" if key is None else key
        known = self.keys.get(name)
        if known is not None and position is not None and known != position:
            raise RefusedError("position_conflict")
        at = next(found for found in (known, position, max(self.next, least)) if found is not None)
        if at > self.next:
            raise RefusedError("position_gap")
        if at == self.next:
            if at >= MOST:
                raise RefusedError("session_full")
            self.kept[at] = Sentence(text, name)
            self.keys[name] = at
            self.next += 1
            self._forget()
        elif self._get(at).text != text:
            raise RefusedError("position_conflict")
        elif self.kept[at].answer is None and any(each not in self.kept for each in self._window(at)):
            raise RefusedError("position_expired")
        self.kept[at].failed = False
        return self._claim(at, token, holds=holds)

    def claim(self, at: int, text: str, token: str, *, holds: bool) -> "Found":
        """As `ContextStore.claim`."""
        if self._own(at, text).failed:
            raise RefusedError("sentence_failed")
        return self._claim(at, token, holds=holds)

    def finish(self, at: int, text: str, answer: str) -> str:
        """As `ContextStore.finish`."""
        sentence = self._own(at, text)
        if sentence.answer is None:
            sentence.answer = answer
        stored = sentence.answer
        self._settle(sentence)
        return stored

    def correct(self, at: int, answer: str) -> str:
        """As `ContextStore.correct`; returns the source."""
        if at >= self.next:
            raise RefusedError("sentence_not_found")
        sentence = self._get(at)
        sentence.answer = answer
        self._settle(sentence)
        return sentence.text

    def withdraw(self, at: int, token: str, *, failed: bool) -> bool:
        """As `ContextStore.withdraw`."""
        sentence = self.kept.get(at)
        if sentence is None or token not in {sentence.holder, *sentence.asking}:
            return False
        if sentence.holder != token:
            sentence.asking.discard(token)
            if sentence.holder is not None:
                return False
        if at == self.next - 1 and not sentence.asking:
            del self.kept[at], self.keys[sentence.key]
            self.next -= 1
            return True
        sentence.holder = None
        if failed:
            sentence.asking.clear()
            sentence.failed = True
            self._forget()
        return False

    def _get(self, at: int) -> Sentence:
        if at not in self.kept:
            raise RefusedError("position_expired")
        return self.kept[at]

    def _own(self, at: int, text: str) -> Sentence:
        """The sentence at that position, which must have this text."""
        if at >= self.next:
            raise RefusedError("position_gap")
        if self._get(at).text != text:
            raise RefusedError("position_conflict")
        return self.kept[at]

    def _claim(self, at: int, token: str, *, holds: bool) -> "Found":
        sentence = self.kept[at]
        if sentence.answer is not None:
            return Found(at, self.next, sentence.answer, waits=False, preceding=[])
        if sentence.holder not in {None, token} and sentence.lease_holds:
            sentence.asking.add(token)
            return Found(at, self.next, None, waits=True, preceding=[])
        if sentence.holder != token:
            sentence.asking.clear()
        sentence.holder, sentence.lease_holds = token, holds
        before = [self.kept[each] for each in self._window(at)]
        return Found(at, self.next, None, waits=False, preceding=[(each.text, each.answer) for each in before])

    @staticmethod
    def _window(at: int) -> range:
        return range(max(0, at - WINDOW), at)

    def _settle(self, sentence: Sentence) -> None:
        sentence.holder, sentence.failed = None, False
        sentence.asking.clear()
        self._forget_token(sentence)
        self._forget()

    def _forget_token(self, sentence: Sentence) -> None:
        if sentence.key.startswith("token:"):
            del self.keys[sentence.key]
            sentence.key = ""

    def _forget(self) -> None:
        """Forget sentences beyond the horizon, but not while they, or one that reads them, may still get an answer."""
        for at in [at for at in self.kept if at < self.next - HORIZON]:
            readers = [(later, self.kept.get(later)) for later in range(at, at + WINDOW + 1)]
            if not any(reader is not None and self._is_needed(later, reader) for later, reader in readers):
                self._forget_token(self.kept.pop(at))

    def _is_needed(self, at: int, sentence: Sentence) -> bool:
        return sentence.answer is None and (at >= self.next - HORIZON or not sentence.failed)


@dataclass(frozen=True)
class Found:
    """The result of `append` and `claim`."""

    position: int
    next: int
    answer: str | None
    waits: bool
    preceding: list[tuple[str, str | None]]
