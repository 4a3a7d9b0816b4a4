"""How much attention each sentence of a document pays to its neighbours (Zheng et al. 2020, figure 4)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from models.data.documents import Document
from models.engine.runtime import Runtime
from models.errors import PictureError
from models.network.observation import WatchedAttention
from models.plotting.passage import Passage, name_of, read_passage


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """The attention of one part of a network: the mean over its layers, their heads and the tokens of a sentence."""

    part: str
    shares: list[list[float]]
    """A row for each sentence: the share of attention, out of 1, that each sentence gets; all 0 without context."""


def sentence_attention(runtime: Runtime, document: Document) -> list[AttentionMap]:
    """Return a map for each part of the network that attends to neighbouring sentences.

    Raises:
        DataError: no sentence is short enough for the model.
        PictureError: no part attends to the tokens of several sentences, or no sentence of the document has others to
            attend to.
    """
    passage = read_passage(runtime, document)
    watched = passage.model.architecture.context_attentions(passage.examples, passage.batch)
    if not watched:
        raise PictureError(f"{name_of(runtime)} has no attention across sentences to draw")
    maps: dict[str, list[Tensor]] = {}
    for one, keys in zip(watched, passage.observe(watched), strict=True):
        maps.setdefault(one.part, []).append(_by_sentence(one, keys, passage))
    means = {part: torch.stack(each).mean(0) for part, each in maps.items()}
    if not any(bool(mean.any()) for mean in means.values()):
        raise PictureError(f"{document.name}: no sentence has other sentences to attend to")
    return [AttentionMap(part, mean.tolist()) for part, mean in means.items()]


def _by_sentence(watched: WatchedAttention, keys: Tensor, passage: Passage) -> Tensor:
    """Sum the weights of keys (B, C) by sentence, as shares of all that goes to sentences: (n, n)."""
    count = len(passage.document.sentences)
    positions = torch.tensor(passage.positions, device=keys.device)
    place = positions[:, None] + watched.sentences
    inside = (place >= 0) & (place < count)
    sums = keys.new_zeros(len(keys), count).scatter_add(1, place.clamp(0, count - 1), keys * inside)
    total = sums.sum(1, keepdim=True)
    shares = keys.new_zeros(count, count)
    shares[positions] = torch.where(total > 0, sums / total, total)
    return shares.cpu()
