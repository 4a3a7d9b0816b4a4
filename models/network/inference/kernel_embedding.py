"""Embedding with scale and positions in one call."""

import numpy as np
import torch
from torch import Tensor, nn

from models.kernels.embeddings import embed


class KernelEmbedding(nn.Embedding):
    """A float embedding that scales its vectors and adds position encodings in one call."""

    def __init__(self, layer: nn.Embedding) -> None:
        """Replace `layer`."""
        super().__init__(layer.num_embeddings, layer.embedding_dim, _weight=layer.weight)
        self.table = layer.weight.detach().numpy()

    def at_once(self, tokens: Tensor, scale: float, positions: Tensor, places: Tensor | slice) -> Tensor:
        """Embed (B, S) to (B, S, D); see `Transformer.embed`."""
        words, result = tokens.numpy(), np.empty((*tokens.shape, self.embedding_dim), np.float32)
        where = np.arange(places.start or 0, places.stop)[None] if isinstance(places, slice) else places.numpy()
        embed(words, self.table, np.float32(scale), positions.numpy(), where, result)
        return torch.from_numpy(result)
