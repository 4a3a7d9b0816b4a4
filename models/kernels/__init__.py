"""What serving computes on a CPU without torch: loops in Python, compiled by Numba, on the memory of tensors."""
