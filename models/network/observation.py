"""How a network is watched at work: which of its modules are gates, and which attend to neighbouring sentences.

Architectures declare them in two hooks. No network knows that it is watched: forward hooks read what the modules do for
as long as they are looked at, and weights that fused attention never shows are computed anew from its input.

Shape letters as in `models.network.layers`; C counts all keys of a context.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from torch import Tensor, nn

from models.data.batches import Batch
from models.data.tokenizer import PAD
from models.network.hooks import hooks_called

NOWHERE: Final = 1_000_000
"""The place of a key that belongs to no sentence, as where a context has none."""

_M = TypeVar("_M", bound=nn.Module)


@runtime_checkable
class Attends(Protocol):
    """A module whose attention can be looked at."""

    def weights(self, x: Tensor, keys: Tensor, *others: Any) -> Tensor:  # noqa: ANN401 - as the module's `forward`
        """What `forward` mixes the values by, given the same arguments without the values."""


@dataclass(frozen=True, slots=True)
class WatchedGate:
    """A gate, and where in a batch what it says counts."""

    part: str
    """Of the network, as `encoder`."""
    layer: int
    """Of the part, from 0."""
    module: nn.Module
    """Gives the gate, (B, T, D)."""
    real: Tensor
    """(B, T), true where there is a token whose gate is used."""
    of_context: bool
    """Whether it is the weight of the context; else it is that of the sentence, and the context has the rest."""

    def read(self, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        """The weight of the context for each token that counts, (tokens, D)."""
        gate = output[self.real]
        return gate if self.of_context else 1 - gate


@dataclass(frozen=True, slots=True)
class WatchedAttention:
    """Attention to neighbouring sentences, and where in a batch what it finds counts."""

    part: str
    """Of the network, and what is read, as `decoder: target context`."""
    layer: int
    """Of the part, from 0."""
    module: nn.Module
    """Is `Attends`, and is called with queries, keys, values and others."""
    real: Tensor
    """(B, T), true where there is a query whose result is used."""
    sentences: Tensor
    """(B, C): how many sentences after the current one a key's sentence stands, negative before it, or `NOWHERE`."""
    arrange: Callable[[Tensor], Tensor] = lambda weights: weights
    """Brings the weights that the module gives into the shape (B, H, T, C)."""

    def read(self, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        """The weight of each key, (B, C): the mean over heads and over the queries that count; nought without any."""
        assert isinstance(self.module, Attends)
        x, keys, _, *others = arguments
        weights = self.arrange(self.module.weights(x, keys, *others)).mean(1)
        counts = self.real[:, :, None]
        return (weights * counts).sum(1) / counts.sum(1).clamp(min=1)


def observe(watched: Sequence[WatchedGate | WatchedAttention], work: Callable[[], object]) -> list[Tensor]:
    """What is read of each, in turn, while `work` lets the network work on their batch."""
    found: dict[int, Tensor] = {}

    def reader(number: int) -> Callable[[nn.Module, tuple[Any, ...], Tensor], None]:
        def see(_module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
            found[number] = watched[number].read(arguments, output)

        return see

    with ExitStack() as stack:
        for number, each in enumerate(watched):
            stack.enter_context(hooks_called(each.module))
            stack.enter_context(each.module.register_forward_hook(reader(number)))
        work()
    return [found[number] for number in range(len(watched))]


def at_work(
    batch: Batch, encoder: nn.ModuleList, decoder: nn.ModuleList, kind: type[_M]
) -> Iterator[tuple[str, int, _M, Tensor]]:
    """The context sub-layers of both sides: which part and layer each is of, itself, and where in a batch it counts."""
    for part, sublayers, real in (
        ("encoder", encoder, source_tokens(batch)),
        ("decoder", decoder, target_tokens(batch)),
    ):
        for layer, sublayer in enumerate(sublayers):
            assert isinstance(sublayer, kind)
            yield part, layer, sublayer, real


def source_tokens(batch: Batch) -> Tensor:
    """(B, S), true at real tokens of the source."""
    return batch.source.ne(PAD)


def target_tokens(batch: Batch) -> Tensor:
    """(B, T), true where a token of the target is predicted."""
    assert batch.target is not None
    return batch.target[:, 1:].ne(PAD)
