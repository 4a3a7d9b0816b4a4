"""What tests of training share."""

import pytest
import torch


@pytest.fixture
def one_thread() -> None:
    """Sums are in the same order as in the processes with one thread."""
    torch.set_num_threads(1)
