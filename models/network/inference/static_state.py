"""The past of hypotheses whose tensors keep shape and place from step to step; see `models.network.inference.frame`."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.network.layers import additive
from models.network.state import State


@dataclass
class StaticState(State):
    """The past of R hypotheses in full length; words that are not there yet are hidden."""

    here: Tensor = field(kw_only=True)
    """(1,) where the next word goes, on the device."""
    starts: Tensor = field(kw_only=True)
    """(R,) where the sentence of each hypothesis begins."""
    room: int = field(kw_only=True)
    """Words that there is a place for."""

    @property
    def next_place(self) -> Tensor:
        """Where the next word goes, on the device, (1,)."""
        return self.here

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Put in what a word of each hypothesis has left, (R, 1, X); gives that of all places, (R, room, X)."""
        return self.reserve(name, new).index_copy_(0, self.here, new.transpose(0, 1)).transpose(0, 1)

    def reserve(self, name: str, new: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Where what a word of each hypothesis leaves is to be put, (room, R, X)."""
        if name not in self.past:
            self.past[name] = new.new_zeros(self.room, new.size(0), new.size(2), dtype=dtype)
        return self.past[name]

    def look_up(self, rows: int, words: int) -> Tensor:
        """Where the words of each hypothesis are, (R, room); from now on they stay there."""
        if self.columns is None:
            self.columns = self._own(rows, self.room)
        return self.columns

    def move(self, origins: Tensor) -> None:
        """Let hypothesis i go on from what `origins[i]` was, (R,), whose words are looked up where they are."""
        assert self.columns is not None
        own = torch.arange(len(origins), device=origins.device)[:, None]
        ahead = torch.arange(self.room, device=origins.device) >= self.here
        self.columns.copy_(torch.where(ahead, own, self.columns.index_select(0, origins)))

    def advance(self, words: int) -> None:
        """A word more has been read."""
        self.here += words
        self._unseen = None

    def places(self, words: int) -> Tensor:
        """Where in its sentence the next word of each hypothesis stands, (R, 1)."""
        return self.here - self.starts[:, None]

    def unseen(self, dtype: torch.dtype) -> Tensor:
        """What is added to the scores: hides what is not between the beginning and here; (R, 1, 1, room)."""
        if self._unseen is None:
            places = torch.arange(self.room, device=self.here.device)
            seen = (places >= self.starts[:, None]) & (places <= self.here)
            self._unseen = additive(seen[:, None, None], dtype)
        return self._unseen
