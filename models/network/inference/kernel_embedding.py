"""Words embedded in one call."""

import numpy as np
import torch
from torch import Tensor, nn

from models.kernels.embeddings import embed


class KernelEmbedding(nn.Embedding):
    """An embedding, in floats, that scales its vectors and adds those of their places in one call."""

    def __init__(self, layer: nn.Embedding) -> None:
        """What `layer` is."""
        super().__init__(layer.num_embeddings, layer.embedding_dim, _weight=layer.weight)
        self.table = layer.weight.detach().numpy()

    def at_once(self, tokens: Tensor, scale: float, positions: Tensor, places: Tensor | slice) -> Tensor:
        """(B, S) to (B, S, D); as `Transformer.embed`."""
        words, result = tokens.numpy(), np.empty((*tokens.shape, self.embedding_dim), np.float32)
        where = np.arange(places.start or 0, places.stop)[None] if isinstance(places, slice) else places.numpy()
        embed(words, self.table, np.float32(scale), positions.numpy(), where, result)
        return torch.from_numpy(result)
