"""CUDA graphs: Python and the driver pay for the launches of a step only once, when it is captured.

A step of six layers is some 150 kernels, which take longer to launch than to run.
"""

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

import torch

Replay = Callable[[], Any]
"""Replays a capture on the current contents of its buffers; the next replay overwrites the result."""

Capture = Callable[[Replay], Replay]
"""Captures a step for repeated replay."""

WARM_UP: Final = 2
"""Runs before the captured one, in which libraries initialise themselves."""

NO_MEMORY: Final = "out of memory", "CUBLAS_STATUS_ALLOC_FAILED"
"""Messages of errors for lack of GPU memory that have no type of their own: some of torch's, and CTranslate2's."""


def says_no_memory(error: str) -> bool:
    """Whether an error message says that a device is out of memory."""
    return any(words in error for words in NO_MEMORY)


class CudaGraphs:
    """Captures steps; satisfies `Capture`.

    All graphs share the memory of their intermediate results: no two of them ever run at the same time. The streams are
    its own: what cuBLAS keeps for the capturing stream lies in that memory, and is freed with the graphs.
    """

    def __init__(self, device: torch.device) -> None:
        """Capture what runs on a CUDA device."""
        self._device = device
        with torch.cuda.device(device):
            self._apart, self._captures = torch.cuda.Stream(), torch.cuda.Stream()
        self._alive: WeakSet[Replay] = WeakSet()
        self._pool: Any = None

    def __call__(self, step: Replay) -> Replay:
        """Capture a step, which may be run on whatever its buffers contain now.

        Raises:
            RuntimeError: something in it cannot be captured.
        """
        with torch.cuda.device(self._device):
            self._warm_up(step)
            if not self._alive:  # a pool whose graphs are all gone takes no new one
                self._pool = torch.cuda.graph_pool_handle()
            graph, now = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
            try:
                # "thread_local": other threads of the process may continue to use CUDA.
                with torch.cuda.graph(graph, pool=self._pool, stream=self._captures, capture_error_mode="thread_local"):
                    result = step()
            finally:  # after a failed capture torch leaves its stream as the current one
                torch.cuda.set_stream(now)

        def replay() -> Any:  # noqa: ANN401 - whatever the step gives
            graph.replay()
            return result

        self._alive.add(replay)
        return replay

    def _warm_up(self, step: Replay) -> None:
        """Run the step a few times on another stream than the one with pending work, as a capture does."""
        now = torch.cuda.current_stream()
        self._apart.wait_stream(now)
        try:
            with torch.cuda.stream(self._apart):
                for _ in range(WARM_UP):
                    step()
        finally:  # its memory may be reused by what runs here next, after a lack of memory
            now.wait_stream(self._apart)
