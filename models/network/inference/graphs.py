"""CUDA graphs: what Python and the driver need for a step they need once, when the step is captured.

A step of six layers is some 150 kernels, which take longer to launch than to run.
"""

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

import torch

Replay = Callable[[], Any]
"""Does what was captured, with what now stands in the same places; gives its result, which the next one overwrites."""

Capture = Callable[[Replay], Replay]
"""Makes a step ready to be done again and again."""

WARM_UP: Final = 2
"""Steps before the one that is captured, in which libraries make themselves ready."""

NO_MEMORY: Final = "out of memory", "CUBLAS_STATUS_ALLOC_FAILED"
"""What errors say where a GPU has none: those of torch that are not of its kind for that, and CTranslate2's."""


def says_no_memory(error: str) -> bool:
    """Whether this is what an error says where a device has no memory."""
    return any(words in error for words in NO_MEMORY)


class CudaGraphs:
    """Captures steps; satisfies `Capture`.

    All graphs share the memory of what they compute on the way: never two of them run at a time. The streams are its
    own: what cuBLAS keeps for the one that captures lies in that memory, and goes with the graphs.
    """

    def __init__(self, device: torch.device) -> None:
        """Capture what runs on a CUDA device."""
        self._device = device
        with torch.cuda.device(device):
            self._apart, self._captures = torch.cuda.Stream(), torch.cuda.Stream()
        self._alive: WeakSet[Replay] = WeakSet()
        self._pool: Any = None

    def __call__(self, step: Replay) -> Replay:
        """Capture a step that may be done with whatever stands in its places now.

        Raises:
            RuntimeError: something in it cannot be captured.
        """
        with torch.cuda.device(self._device):
            self._warm_up(step)
            if not self._alive:  # a pool that no graph uses any more takes no other one
                self._pool = torch.cuda.graph_pool_handle()
            graph, now = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
            try:
                # Other threads of the process may go on using CUDA.
                with torch.cuda.graph(graph, pool=self._pool, stream=self._captures, capture_error_mode="thread_local"):
                    result = step()
            finally:  # torch leaves the stream of a capture that fails as the current one
                torch.cuda.set_stream(now)

        def replay() -> Any:  # noqa: ANN401 - whatever the step gives
            graph.replay()
            return result

        self._alive.add(replay)
        return replay

    def _warm_up(self, step: Replay) -> None:
        """Run on another stream than the one that has work waiting, as a capture does."""
        now = torch.cuda.current_stream()
        self._apart.wait_stream(now)
        try:
            with torch.cuda.stream(self._apart):
                for _ in range(WARM_UP):
                    step()
        finally:  # whose memory may be used again by what runs here next, if there was not enough
            now.wait_stream(self._apart)
