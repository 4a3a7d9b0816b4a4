"""Which sentences of its document a sentence is read with."""

from typing import Literal

from pydantic import Field

from models.config.section import Frozen
from models.errors import ConfigError


class ContextWindow(Frozen):
    """Which sentences of its document a sentence is translated with.

    `sliding`: the `size` before it and the `following` after it. `block`: the document is cut into blocks of `size` + 1
    sentences, and none reads beyond its own block.
    """

    kind: Literal["sliding", "block"] = "sliding"
    """Whether the window goes with the sentence, or stands still for a block of them."""
    size: int = Field(0, ge=0)
    """The most preceding sentences."""
    following: int = Field(0, ge=0)
    """The most following sentences."""

    def around(self, position: int) -> tuple[int, int]:
        """The first sentence that sentence `position` is read with, and the one after the last."""
        if self.kind == "sliding":
            return max(0, position - self.size), position + 1 + self.following
        first = position - position % (self.size + 1)
        return first, min(position + 1 + self.following, first + self.size + 1)

    @property
    def most(self) -> int:
        """The most sentences on one side."""
        return max(self.size, self.following)

    def at_most(self, sentences: int | None) -> "ContextWindow":
        """The same with no more than so many sentences on each side; without a number, as it is.

        Raises:
            ConfigError: it has fewer.
        """
        if sentences is None:
            return self
        if sentences > self.most:
            raise ConfigError(f"{sentences} sentences of context are more than the {self.most} that the model reads")
        return self.model_copy(update={"size": min(self.size, sentences), "following": min(self.following, sentences)})
