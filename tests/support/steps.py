"""Takes a decoder through steps, with everything that can happen to a batch in between."""

import torch
from torch import Tensor

from models.data.batches import Batch
from models.data.tokenizer import BOS
from models.network.decoding import ModelDecoder
from models.search.beam import BeamSearch
from models.search.greedy import GreedySearch
from models.search.running import Search


def scores(decoder: ModelDecoder, batch: Batch, others: Batch) -> list[Tensor]:
    """The scores of each step, while beams are reordered, sentences leave and others join."""
    generator = torch.Generator().manual_seed(3)
    device = batch.source.device
    found = []

    def go_on(rows: int, steps: int, *, moves: bool) -> None:
        for _ in range(steps):
            found.append(decoder.step(torch.randint(4, 40, (rows,), generator=generator).to(device), state).clone())
            for _ in range(2 * moves):
                beam = torch.randint(3, (rows,), generator=generator)
                state.reorder((torch.arange(rows) // 3 * 3 + beam).to(device))

    with torch.inference_mode():
        state = decoder.start(batch)
        found.append(decoder.step(torch.full((10,), BOS, device=device), state).clone())
        state.reorder(torch.arange(10, device=device).repeat_interleave(3))
        go_on(30, 31, moves=True)
        kept = torch.tensor([7, 2, 5], device=device)
        state.keep(kept)
        state.reorder((kept[:, None] * 3 + torch.arange(3, device=device)).flatten())
        go_on(9, 4, moves=True)
        state.reorder(torch.arange(0, 9, 3, device=device))
        go_on(3, 3, moves=False)
        if decoder.joins:
            state.join(decoder.start(others), 3, 4)
            go_on(7, 8, moves=False)
    return found


@torch.inference_mode()
def go_on(running: Search) -> None:
    """Take a few steps of a search without looking at their results."""
    for _ in range(4):
        if isinstance(running, GreedySearch):
            assert running._state is not None
            running._draw(0, running._state, ())
        else:
            assert isinstance(running, BeamSearch)
            assert running._beams is not None
            candidates = running._choose(0, running._beams)
            running._continue_with(list(range(len(running._sentences))), candidates, running._beams)
