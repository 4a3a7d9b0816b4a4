"""What a session's client does over REST: it sends sentences as it should, or again, too early, twice or half."""

import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx

from loadtests.users.balancer import Balancer
from loadtests.users.conversation import Conversation, ViolationError, Wrong

KEPT = 24
"""How many of a document's last sentences are retried here; the service promises answers for more than these."""
_LONGEST_STAY_SECONDS = 0.05


class RestClient:
    """Sends the sentences of one conversation; each move gets the next one answered, and tells `on_mischief` of any.

    All moves raise GaveUpError if there is no answer, and ViolationError if there is a wrong one.
    """

    def __init__(
        self,
        conversation: Conversation,
        balancer: Balancer,
        http: httpx.Client,
        rng: random.Random,
        on_mischief: Callable[[str], object],
    ) -> None:
        self._conversation = conversation
        self._balancer = balancer
        self._http = http
        self._rng = rng
        self._on_mischief = on_mischief
        self.moves: Sequence[Callable[[], None]] = (
            self.in_turn,
            self.in_turn,
            self.by_key,
            self.twice,
            self.again,
            self.too_early,
            self.leave,
        )

    def in_turn(self) -> None:
        """Send the next sentence at its position."""
        self._say(self._conversation.next_position)

    def by_key(self) -> None:
        """Send the next sentence with an idempotency key instead of a position."""
        position = self._conversation.next_position
        body = {"text": self._conversation.document[position]}
        self._hear(position, self._send(body, {"Idempotency-Key": f"sentence-{position}"}))

    def twice(self) -> None:
        """Send the next sentence twice at the same time."""
        self._on_mischief("sent twice at once")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._say, [self._conversation.next_position] * 2))

    def again(self) -> None:
        """Send an earlier sentence once more, then the next one."""
        position = self._conversation.next_position
        if position:
            self._on_mischief("sent again later")
            self._say(self._rng.randrange(max(0, position - KEPT), position))
        self._say(position)

    def too_early(self) -> None:
        """Send the sentence after the next, which must be refused, and then the next one."""
        position = self._conversation.next_position
        if position + 1 < len(self._conversation.document):
            self._on_mischief("sent too early")
            refused = self._send(self._conversation.body(position + 1)).json()
            if (refused.get("code"), refused.get("next_position")) != ("position_gap", position):
                raise ViolationError(Wrong.MISPLACED, "a sentence too early was not refused as a gap")
        self._say(position)

    def leave(self) -> None:
        """Send the next sentence, but close the connection within a moment; then send it again."""
        position = self._conversation.next_position
        stay = self._rng.uniform(0, _LONGEST_STAY_SECONDS)
        url, body = self._balancer.url() + self._path, self._conversation.body(position)
        try:
            answer = self._http.post(url, json=body, timeout=httpx.Timeout(stay, connect=None))
        except httpx.TransportError:
            self._on_mischief("left in the middle")
        else:
            if "retry-after" not in answer.headers:
                self._hear(position, answer)
                return
        self._say(position)

    @property
    def _path(self) -> str:
        return f"{self._conversation.path}/sentences"

    def _say(self, position: int) -> None:
        self._hear(position, self._send(self._conversation.body(position)))

    def _send(self, body: Mapping[str, object], headers: dict[str, str] | None = None) -> httpx.Response:
        return self._balancer.ask("POST", self._path, json=body, headers=headers)

    def _hear(self, position: int, answer: httpx.Response) -> None:
        if not answer.is_success:
            raise ViolationError(
                Wrong.REFUSED, f"a sentence was refused: {answer.status_code} {answer.json().get('code')}"
            )
        self._conversation.hear(position, answer.json())
