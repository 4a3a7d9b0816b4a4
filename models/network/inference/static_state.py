"""A decoding state whose tensors keep shape and address; see `models.network.inference.frame`."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.network.attention import additive
from models.network.state import State


@dataclass
class StaticState(State):
    """The past of R hypotheses at full length; words that do not exist yet are hidden."""

    here: Tensor = field(kw_only=True)
    """(1,), position of the next word, on the device."""
    starts: Tensor = field(kw_only=True)
    """(R,), where the sentence of each hypothesis begins."""
    room: int = field(kw_only=True)
    """Number of words that fit."""

    @property
    def next_place(self) -> Tensor:
        """Position of the next word, on the device, (1,)."""
        return self.here

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Store what one word per hypothesis has left, (R, 1, X), and return that of all places, (R, room, X)."""
        return self.reserve(name, new).index_copy_(0, self.here, new.transpose(0, 1)).transpose(0, 1)

    def reserve(self, name: str, new: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return the cache that will hold what one word per hypothesis leaves, (room, R, X)."""
        if name not in self.past:
            self.past[name] = new.new_zeros(self.room, new.size(0), new.size(2), dtype=dtype)
        return self.past[name]

    def look_up(self, rows: int, words: int) -> Tensor:
        """Return the columns of each hypothesis's words, (R, room); from now on no word is moved."""
        if self.columns is None:
            self.columns = self._own(rows, self.room)
        return self.columns

    def move(self, origins: Tensor) -> None:
        """Let hypothesis i continue hypothesis `origins[i]`, (R,), by changing columns; no word is moved."""
        assert self.columns is not None
        own = torch.arange(len(origins), device=origins.device)[:, None]
        ahead = torch.arange(self.room, device=origins.device) >= self.here
        self.columns.copy_(torch.where(ahead, own, self.columns.index_select(0, origins)))

    def advance(self, words: int) -> None:
        """Record that one more word has been read."""
        self.here += words
        self._unseen = None

    def places(self, words: int) -> Tensor:
        """Return the position of each hypothesis's next word in its sentence, (R, 1)."""
        return self.here - self.starts[:, None]

    def unseen(self, dtype: torch.dtype, words: int = 1) -> Tensor:
        """Return an additive mask (R, 1, 1, room) that hides what is not between the beginning and `here`."""
        if self._unseen is None:
            places = torch.arange(self.room, device=self.here.device)
            seen = (places >= self.starts[:, None]) & (places <= self.here)
            self._unseen = additive(seen[:, None, None], dtype)
        return self._unseen
