"""Observation of a running network: its gates, and its attention to neighbouring sentences.

Architectures declare these modules in two hooks. The network itself is not aware of it: forward hooks read the modules
while they are observed, and attention weights, which fused kernels never expose, are recomputed from their input.

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
"""Place of a key that belongs to no sentence, as when there is no context."""

_M = TypeVar("_M", bound=nn.Module)


@runtime_checkable
class Attends(Protocol):
    """A module whose attention weights can be inspected."""

    def weights(self, x: Tensor, keys: Tensor, *others: Any) -> Tensor:  # noqa: ANN401 - as the module's `forward`
        """Return the weights by which `forward` mixes the values, given its arguments without the values."""


@dataclass(frozen=True, slots=True)
class WatchedGate:
    """A gate, and the positions of a batch at which its output is used."""

    part: str
    """Part of the network, such as `encoder`."""
    layer: int
    """Layer of the part, from 0."""
    module: nn.Module
    """Its output is the gate, (B, T, D)."""
    real: Tensor
    """(B, T), true at tokens whose gate is used."""
    of_context: bool
    """Whether the gate weights the context; otherwise it weights the sentence, and the context gets the rest."""

    def read(self, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        """Return the weight of the context for each token that counts, (tokens, D)."""
        gate = output[self.real]
        return gate if self.of_context else 1 - gate


@dataclass(frozen=True, slots=True)
class WatchedAttention:
    """Attention to neighbouring sentences, and the positions of a batch at which its output is used."""

    part: str
    """Part of the network and what it reads, such as `decoder: target context`."""
    layer: int
    """Layer of the part, from 0."""
    module: nn.Module
    """Satisfies `Attends`; called with queries, keys, values and further arguments."""
    real: Tensor
    """(B, T), true at queries whose result is used."""
    sentences: Tensor
    """(B, C), the offset of each key's sentence from the current one, negative before it, or `NOWHERE`."""
    arrange: Callable[[Tensor], Tensor] = lambda weights: weights
    """Reshapes the module's weights to (B, H, T, C)."""

    def read(self, arguments: tuple[Any, ...], output: Tensor) -> Tensor:
        """Return the weight of each key, (B, C): the mean over heads and over the queries that count, 0 if none do."""
        assert isinstance(self.module, Attends)
        x, keys, _, *others = arguments
        weights = self.arrange(self.module.weights(x, keys, *others)).mean(1)
        counts = self.real[:, :, None]
        return (weights * counts).sum(1) / counts.sum(1).clamp(min=1)


def observe(watched: Sequence[WatchedGate | WatchedAttention], work: Callable[[], object]) -> list[Tensor]:
    """Return the reading of each watched module, in order, while `work` runs the network on their batch."""
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
    """Yield the context sub-layers of both sides: part, layer, the sub-layer, and where in a batch it counts."""
    for part, sublayers, real in (
        ("encoder", encoder, source_tokens(batch)),
        ("decoder", decoder, target_tokens(batch)),
    ):
        for layer, sublayer in enumerate(sublayers):
            assert isinstance(sublayer, kind)
            yield part, layer, sublayer, real


def source_tokens(batch: Batch) -> Tensor:
    """Return a mask (B, S), true at real tokens of the source."""
    return batch.source.ne(PAD)


def target_tokens(batch: Batch) -> Tensor:
    """Return a mask (B, T), true where a token of the target is predicted."""
    assert batch.target is not None
    return batch.target[:, 1:].ne(PAD)
