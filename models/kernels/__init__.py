"""What serving computes on a CPU without torch: Python loops compiled by Numba, which work on the memory of tensors."""
