"""Kernels for CUDA, written in Triton, which is part of torch's builds for CUDA; imported only where there is a GPU."""
