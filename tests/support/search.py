"""Translates whole batches by a search that has nothing else to do."""

from collections.abc import Sequence

from models.data.batches import Batch, Tokens
from models.search.decoder import Decoder, State
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.running import Search, Unwanted, Wanted
from models.search.search import new_search


def search(
    decoder: Decoder[State],
    batch: Batch,
    options: SearchOptions,
    max_lengths: Sequence[int],
    drafts: Sequence[Tokens] | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch by a new search; the other arguments and the result are those of `run`."""
    return run(new_search(decoder, options), batch, max_lengths, drafts)


def run(
    running: Search,
    batch: Batch,
    max_lengths: Sequence[int],
    drafts: Sequence[Tokens] | None = None,
    unwanted: Sequence[Unwanted | None] | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch by a search that has nothing else to do.

    Args:
        running: the search.
        batch: of B sentences, on the decoder's device.
        max_lengths: for each sentence the most tokens to generate, end of sentence included; at least 1.
        drafts: for each sentence a draft or nothing; greedy search keeps as much of it as it would produce itself.
        unwanted: for each sentence the hypotheses that beam search drops, if there are any.

    Returns:
        For each sentence its `n_best` hypotheses, best first; see `models.search.running.Found`.

    Raises:
        UnsupportedOptionError: the vocabulary is too small for the beam.
    """
    given, dropped = drafts or [()] * len(max_lengths), unwanted or [None] * len(max_lengths)
    wanted = [Wanted(key, *each) for key, each in enumerate(zip(max_lengths, given, dropped, strict=True))]
    running.add(batch, wanted)
    results: dict[int, list[Hypothesis]] = {}
    while running.running:
        results |= {found.key: found.hypotheses for found in running.step()}
    return [results[key] for key in range(len(max_lengths))]
