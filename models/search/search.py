"""The entry to search."""

from collections.abc import Sequence

import torch

from models.data.batches import Batch
from models.search.beam import beam_search
from models.search.decoder import Decoder, State
from models.search.greedy import greedy_search
from models.search.hypotheses import Hypothesis, SearchOptions


@torch.inference_mode()
def search(
    decoder: Decoder[State], batch: Batch, options: SearchOptions, max_lengths: Sequence[int]
) -> list[list[Hypothesis]]:
    """Translate a batch.

    Args:
        decoder: the model.
        batch: of B sentences, on the decoder's device.
        options: how to search.
        max_lengths: for each sentence the most tokens to generate, end of sentence included; 1 or more.

    Returns:
        For each sentence its `n_best` hypotheses, best first. One that did not end before its maximum length is there
        as it is: no sentence is dropped.

    Raises:
        UnsupportedOptionError: the vocabulary is too small for the beam.
    """
    strategy = greedy_search if options.beam_size == 1 else beam_search
    return strategy(decoder, batch, options, max_lengths)
