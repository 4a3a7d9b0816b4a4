"""CUDA graphs: what Python and the driver need for a step they need once, when the step is captured.

A step of six layers is some 150 kernels, which take longer to launch than to run.
"""

from typing import Final

import torch

from models.network.static_state import Replay

WARM_UP: Final = 2
"""Steps before the one that is captured, in which libraries make themselves ready."""


class CudaGraphs:
    """Captures steps; satisfies `models.network.static_state.Capture`.

    All graphs share the memory of what they compute on the way: never two of them run at a time.
    """

    def __init__(self, device: torch.device) -> None:
        """Capture what runs on a CUDA device."""
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Replay) -> Replay:
        """Capture a step that may be done with whatever stands in its places now.

        Raises:
            RuntimeError: something in it cannot be captured.
        """
        with torch.cuda.device(self._device):
            self._warm_up(step)
            graph = torch.cuda.CUDAGraph()
            # Other threads of the process may go on using CUDA.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                result = step()

        def replay() -> torch.Tensor:
            graph.replay()
            return result

        return replay

    @staticmethod
    def _warm_up(step: Replay) -> None:
        """Run on another stream than the one that has work waiting, as a capture does."""
        now, apart = torch.cuda.current_stream(), torch.cuda.Stream()
        apart.wait_stream(now)
        with torch.cuda.stream(apart):
            for _ in range(WARM_UP):
                step()
        now.wait_stream(apart)
