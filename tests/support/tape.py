"""What CUDA graphs do, on a CPU: kernels are noted down with the places that they read and write, and done again."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from models.network.inference.graphs import Replay


class _Tape(TorchDispatchMode):
    """Notes down every kernel that runs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernels: list[tuple[Any, Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        places = {leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        new = [leaf for leaf in tree_leaves(result) if leaf.untyped_storage().data_ptr() not in places]
        self.kernels.append((func, args, kwargs or {}, new))
        return result


class Tapes:
    """Captures steps; satisfies `models.network.inference.graphs.Capture`."""

    def __init__(self) -> None:
        self.captures = 0
        self.replays = 0

    def __call__(self, step: Replay) -> Replay:
        """Capture a step, which runs once for it."""
        self.captures += 1
        with _Tape() as tape:
            result = step()

        def replay() -> Any:
            self.replays += 1
            for func, args, kwargs, new in tape.kernels:
                for place, value in zip(new, tree_leaves(func(*args, **kwargs)), strict=False):
                    place.copy_(value)
            return result

        return replay
