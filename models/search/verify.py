"""How much of a draft agrees with greedy search, found in one pass over the draft instead of a step per token.

As in blockwise decoding (Stern et al. 2018, "Blockwise Parallel Decoding for Deep Autoregressive Models", section 3),
with tolerance 0: a token of the draft is kept if it is the most likely one after those before it. The first that is not
is replaced by the most likely one, and greedy search continues from there.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.data.batches import Tokens, pad
from models.data.tokenizer import BOS
from models.search.decoder import Decoder, State
from models.search.hypotheses import SearchOptions
from models.search.loops import continues_loop, tokens_to_loop
from models.search.running import Wanted
from models.search.vocabulary import likeliest

POSITIONS = 256
"""Positions scored together; with more, their scores (V each) would need more memory than the pass itself."""

Drawn = list[tuple[int, float]]
"""Tokens that greedy search chooses, one after the other, with their log-probabilities."""


def verify(
    decoder: Decoder[State], state: State, wanted: Sequence[Wanted], options: SearchOptions, device: torch.device
) -> list[Drawn]:
    """Read the drafts of sentences that have just been started.

    Args:
        decoder: the model.
        state: of these sentences before their first step; afterwards, it has read all drawn tokens but the last ones.
        wanted: the sentences, including those without a draft.
        options: of greedy search.
        device: the decoder's.

    Returns:
        For each sentence the first tokens of greedy search: those that agree with the draft, and one more.
    """
    read = [[BOS, *each.draft[: each.max_length - 1]] for each in wanted]
    lengths = torch.tensor([len(tokens) for tokens in read], device=device)
    outputs = decoder.read(pad(read).to(device), state)
    places = torch.arange(outputs.size(1), device=device).expand(len(read), -1)
    real = places < lengths[:, None]
    drawn = _draw(decoder, outputs[real], places[real].lt(options.min_length))
    found, first = [], 0
    for tokens in read:
        own = drawn[first : first + len(tokens)]
        agreeing = own[: agreement(tokens[1:], own) + 1]  # and the replacement of the first that differs
        found.append(_without_loop(agreeing, options.most_repeated))
        first += len(tokens)
    state.cut(torch.tensor([len(each) for each in found], device=device))
    return found


def agreement(draft: Tokens, drawn: Drawn) -> int:
    """Return how many tokens of a draft equal the drawn ones, up to the first that does not."""
    pairs = zip(draft, drawn, strict=False)
    return next((i for i, (token, (best, _)) in enumerate(pairs) if token != best), min(len(draft), len(drawn)))


def _draw(decoder: Decoder[State], outputs: Tensor, early: Tensor) -> Drawn:
    """Return the most likely token after each output (Y, X); `early` is true where the sentence must not end yet."""
    drawn: Drawn = []
    for part, soon in zip(outputs.split(POSITIONS), early.split(POSITIONS), strict=True):
        tokens, values = likeliest(decoder.scores(part), soon.nonzero()[:, 0].tolist())
        drawn += zip(tokens.tolist(), values.tolist(), strict=True)
    return drawn


def _without_loop(drawn: Drawn, most: int | None) -> Drawn:
    """Cut what was drawn where greedy search would have chosen another token to avoid a loop."""
    if most is None:
        return drawn
    tokens = [token for token, _ in drawn]
    end = 0
    while end < len(tokens) and continues_loop(tokens[:end], most) != tokens[end]:
        end += max(1, tokens_to_loop(tokens[:end], most))
    return drawn[:end]
