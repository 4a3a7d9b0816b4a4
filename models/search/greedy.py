"""Greedy search: the most likely token at each step; a finished sentence leaves the batch."""

from collections.abc import Sequence

from models.data.batches import Batch, Memory
from models.data.tokenizer import BOS, EOS
from models.search.decoder import Decoder, State
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.vocabulary import log_probabilities


def greedy_search(
    decoder: Decoder[State], batch: Batch, options: SearchOptions, max_lengths: Sequence[int]
) -> list[list[Hypothesis]]:
    """Search with a beam of one; arguments and result as in `models.search.search.search`."""
    outputs: list[list[int]] = [[] for _ in max_lengths]
    totals = [0.0 for _ in max_lengths]
    memories: list[Memory] = [{} for _ in max_lengths]
    places = list(range(len(max_lengths)))
    tokens = batch.source.new_full((len(places),), BOS)
    state = decoder.start(batch)
    while places:
        logits = decoder.step(tokens, state)
        # Of equal ones the lowest token.
        best, tokens = log_probabilities(logits, len(outputs[places[0]]), options.min_length).max(-1)
        drawn = tokens.tolist()
        for place, token, value in zip(places, drawn, best.tolist(), strict=True):
            outputs[place].append(token)
            totals[place] += value
        ended = [i for i, token in enumerate(drawn) if token == EOS]
        for i, memory in zip(ended, decoder.leave(ended, state) if ended else (), strict=True):
            memories[places[i]] = memory
        going = [i for i, p in enumerate(places) if outputs[p][-1] != EOS and len(outputs[p]) < max_lengths[p]]
        if 0 < len(going) < len(places):
            rows = tokens.new_tensor(going)
            tokens = tokens[rows]
            state.keep(rows)
            state.reorder(rows)
        places = [places[i] for i in going]
    return [[_hypothesis(*found, options)] for found in zip(outputs, totals, memories, strict=True)]


def _hypothesis(output: list[int], total: float, memory: Memory, options: SearchOptions) -> Hypothesis:
    finished = output[-1] == EOS
    tokens = output[:-1] if finished else output
    return Hypothesis(tokens, options.normalize(total, len(output)), total, finished, memory)
