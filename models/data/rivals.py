"""The candidates of a training corpus as token ids, for minimum risk training."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from models.config import RiskConfig
from models.data.batches import Rivals, Tokens, as_arrays, pad_targets
from models.data.candidates import read_candidates, spread
from models.data.tokenizer import Tokenizer


class TokenizedRivals:
    """Candidates of each sentence of a corpus; fewer than two are none, since there is nothing to choose."""

    def __init__(self, config: RiskConfig, tokenizer: Tokenizer, sentences: int) -> None:
        """Read and tokenize those of so many sentences.

        Raises:
            DataError: the file is missing or damaged, or is another corpus's.
        """
        found = [spread(each, config.most) for each in read_candidates(config.candidates, sentences)]
        found = [each if len(each) > 1 else [] for each in found]
        pieces = iter(as_arrays(tokenizer.encode_targets([one.text for each in found for one in each])))
        self._tokens = [[next(pieces) for _ in each] for each in found]
        self._gains = [np.array([one.gain for one in each], np.float32) for each in found]
        self.lengths = np.array([max((len(one) + 1 for one in each), default=0) for each in self._tokens], np.int64)
        """Tokens of the longest candidate of each sentence, end of sentence included; 0 where there are none."""
        self.most = max(map(len, self._tokens), default=0)
        """The most candidates of a sentence."""

    def select(self, indices: Sequence[int], references: Sequence[Tokens]) -> Rivals:
        """The rivals of a batch of sentences, all of which have some, with these references."""
        most = max(len(self._tokens[index]) for index in indices)
        rows: list[Tokens] = [
            row
            for index, reference in zip(indices, references, strict=True)
            for row in (reference, *self._tokens[index], *[()] * (most - len(self._tokens[index])))
        ]
        gains = np.zeros((len(indices), most), np.float32)
        for row, index in zip(gains, indices, strict=True):
            row[: len(self._gains[index])] = self._gains[index]
        counts = torch.tensor([len(self._tokens[index]) for index in indices])
        return Rivals(pad_targets(rows), torch.from_numpy(gains), torch.arange(most) < counts[:, None])

    def content(self) -> Iterator[NDArray[np.generic]]:
        """All that is learnt from."""
        for tokens, gains in zip(self._tokens, self._gains, strict=True):
            yield from map(np.asarray, tokens)
            yield gains
