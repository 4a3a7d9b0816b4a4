"""Growth of an encoder: training continues with more layers, without losing what has been learnt.

This is Net2DeeperNet (Chen et al. 2016, "Net2Net: Accelerating Learning via Knowledge Transfer", section 2.3) for a
pre-norm Transformer: a layer whose sub-layers end in zeros is the identity. Li et al. 2020, "Shallow-to-Deep Training
for Neural Machine Translation", train deep encoders in this way in less time, but copy the layers below instead.
"""

import torch
from torch import Tensor

from models.errors import ConfigError
from models.network.model import TranslationModel
from models.network.transformer import EncoderLayer


def deepen(model: TranslationModel, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Complete the weights of a model with a shallower encoder by those of `model`'s additional layers on top.

    These layers of `model`, which has just been initialised, become the identity. What reads the context in them keeps
    the architecture's initialisation.

    Raises:
        ConfigError: `model` has no additional layer.
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
    """Combine the backbone of `weights` with the context modules of `other`, which has the same architecture.

    Where the encoder of `other` was shallower, modules on top are those of `model`, which has just been initialised.
    Where the `integration` of `model` names fewer parts, the other modules are left out.
    """
    backbone = {name: tensor for name, tensor in weights.items() if name.startswith("backbone.")}
    modules = {name for name, _ in model.named_parameters() if name.startswith("architecture.")}
    known = _on_top(model, _depth(other)) | other
    return backbone | {name: tensor for name, tensor in known.items() if name in modules}


def _on_top(model: TranslationModel, depth: int) -> dict[str, Tensor]:
    """Return a model's parameters in and for its encoder layers from `depth` on."""
    layers = range(depth, len(model.backbone.encoder))
    added = tuple(f"{part}.encoder.{layer}." for part in ("backbone", "architecture") for layer in layers)
    return {name: tensor.detach() for name, tensor in model.named_parameters() if name.startswith(added)}


def _depth(weights: dict[str, Tensor]) -> int:
    """Return the depth of the encoder in some weights."""
    layers = (name.split(".")[2] for name in weights if name.startswith("backbone.encoder."))
    return 1 + max(map(int, layers), default=-1)
