"""Layers of torch copied into the parts of a CTranslate2 model, and the model written."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from ctranslate2.specs import common_spec, model_spec
from numpy.typing import NDArray
from torch import Tensor, nn


def fill_linear(spec: common_spec.LinearSpec, linear: nn.Linear) -> None:
    """Copy a layer."""
    spec.weight, spec.bias = array(linear.weight), array(linear.bias)


def fill_joined(spec: common_spec.LinearSpec, linears: Sequence[nn.Linear]) -> None:
    """Copy layers that read the same as one, which gives what they give one after the other."""
    spec.weight = np.concatenate([array(linear.weight) for linear in linears])
    spec.bias = np.concatenate([array(linear.bias) for linear in linears])


def fill_norm(spec: common_spec.LayerNormSpec, norm: nn.LayerNorm) -> None:
    """Copy a normalisation but its epsilon, which a CTranslate2 model has once for all."""
    spec.gamma, spec.beta = array(norm.weight), array(norm.bias)


def array(tensor: Tensor) -> NDArray[np.float32]:
    """What a part of a spec takes for a tensor."""
    # A copy: quantisation multiplies the array that it is given in place.
    return tensor.detach().to("cpu", torch.float32, copy=True).numpy()


def write(spec: model_spec.ModelSpec, folder: Path, quantization: str) -> None:
    """Write a whole model into a folder, made if it is not there, with its weights in that type."""
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
