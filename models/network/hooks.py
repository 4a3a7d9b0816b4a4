"""Modules that are called without a look for hooks, and with it where somebody watches them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import nn


def without_hooks(kind: type[nn.Module], methods: Mapping[str, object]) -> type[nn.Module]:
    """The same kind of module with methods of its own, among them the call that asks nobody."""
    return type(kind.__name__, (kind,), {**methods, "hooked": kind})


@contextmanager
def hooks_called(module: nn.Module) -> Iterator[None]:
    """See to it that hooks of a module are called, whether it is one without them or not."""
    kind = type(module)
    module.__class__ = getattr(kind, "hooked", kind)
    try:
        yield
    finally:
        module.__class__ = kind
