"""If there is no memory for a batch, the error names the value that makes batches smaller."""

import pytest
import torch

from models.config import TrainingConfig
from models.errors import ConfigError
from models.training.memory import room_for_batches

SETTINGS = TrainingConfig(step="sentence", updates=1, batch_tokens=32_000, accumulation=2)
CPU = torch.device("cpu")
SAID = r"^training\.batch_tokens is 32000: cpu has too little memory .* raise training\.accumulation, now 2,"


def test_what_the_device_has_no_memory_for() -> None:
    """This covers the CPU's error, torch's type for a GPU's, and errors of libraries that only say so in words."""
    with pytest.raises(ConfigError, match=SAID), room_for_batches(SETTINGS, CPU):
        torch.empty(2**45)
    for said in (torch.OutOfMemoryError("CUDA"), RuntimeError("cuBLAS: CUBLAS_STATUS_ALLOC_FAILED")):
        with pytest.raises(ConfigError, match=SAID), room_for_batches(SETTINGS, CPU):
            raise said


def test_other_errors_stay_what_they_are() -> None:
    """A bug in the program is not blamed on the run's values."""
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), room_for_batches(SETTINGS, CPU):
        torch.zeros(2, 3) @ torch.zeros(2, 3)
