"""A deeper encoder from a shallower one: training goes on with more layers, and loses nothing of what has been learnt.

Net2DeeperNet (Chen et al. 2016, "Net2Net: Accelerating Learning via Knowledge Transfer", section 2.3) for a pre-norm
Transformer: a layer whose sub-layers end in zeros is the identity. Li et al. 2020, "Shallow-to-Deep Training for
Neural Machine Translation", train deep encoders so, in less time, with copies of the layers below in place of it.
"""

import torch
from torch import Tensor

from models.errors import ConfigError
from models.network.model import TranslationModel
from models.network.transformer import EncoderLayer


def deepen(model: TranslationModel, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a model with a shallower encoder, completed by what `model` has in the layers on top of it.

    Those layers of `model`, which has just been initialised, become the identity. What reads the context in them is
    left as the architecture has it at its start.

    Raises:
        ConfigError: there is no layer on top of it.
    """
    depth = _depth(weights)
    if depth >= len(model.backbone.encoder):
        raise ConfigError(f"deepen: backbone.encoder_layers must be more than the {depth} of training.init")
    for layer in model.backbone.encoder[depth:]:
        assert isinstance(layer, EncoderLayer)
        for closing in (layer.self_attention.output, layer.feed_forward.outer):
            torch.nn.init.zeros_(closing.weight)
    return weights | _on_top(model, depth)


def with_modules_of(model: TranslationModel, weights: dict[str, Tensor], other: dict[str, Tensor]) -> dict[str, Tensor]:
    """The backbone of some weights, with the context modules of others that read the same architecture.

    Where the encoder of those was shallower, the modules on top are what `model` has, which has just been initialised.
    Where its `integration` names fewer parts, the modules of the others are left.
    """
    backbone = {name: tensor for name, tensor in weights.items() if name.startswith("backbone.")}
    modules = {name for name, _ in model.named_parameters() if name.startswith("architecture.")}
    known = _on_top(model, _depth(other)) | other
    return backbone | {name: tensor for name, tensor in known.items() if name in modules}


def _on_top(model: TranslationModel, depth: int) -> dict[str, Tensor]:
    """What a model has in and for the layers of its encoder from `depth` on."""
    layers = range(depth, len(model.backbone.encoder))
    added = tuple(f"{part}.encoder.{layer}." for part in ("backbone", "architecture") for layer in layers)
    return {name: tensor.detach() for name, tensor in model.named_parameters() if name.startswith(added)}


def _depth(weights: dict[str, Tensor]) -> int:
    """Of the encoder that the weights are of."""
    layers = (name.split(".")[2] for name in weights if name.startswith("backbone.encoder."))
    return 1 + max(map(int, layers), default=-1)
