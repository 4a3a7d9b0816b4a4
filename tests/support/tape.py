"""Does on a CPU what CUDA graphs do: records kernels with the memory that they read and write, and replays them."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from models.network.inference.graphs import Replay


class _Tape(TorchDispatchMode):
    """Records every kernel that runs."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernels: list[tuple[Any, Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        places = {leaf.untyped_storage().data_ptr() for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        new = [leaf for leaf in tree_leaves(result) if leaf.untyped_storage().data_ptr() not in places]
        self.kernels.append((func, args, kwargs or {}, new))
        return result


class Launches(TorchDispatchMode):
    """Lists the kernels that are launched singly rather than by a replay; views and empty tensors do not count."""

    def __init__(self, tapes: "Tapes") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernels: list[str] = []
        self._tapes = tapes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not (self._tapes.replaying or func.is_view or "empty" in func.name()):
            self.kernels.append(func.name())
        return result


class Tapes:
    """Captures steps; satisfies `models.network.inference.graphs.Capture`."""

    def __init__(self) -> None:
        self.captures = 0
        self.replays = 0
        self.replaying = False

    def __call__(self, step: Replay) -> Replay:
        """Capture a step by running it once."""
        self.captures += 1
        with _Tape() as tape:
            result = step()

        def replay() -> Any:
            self.replays += 1
            self.replaying = True
            for func, args, kwargs, new in tape.kernels:
                for place, value in zip(new, tree_leaves(func(*args, **kwargs)), strict=False):
                    place.copy_(value)
            self.replaying = False
            return result

        return replay
