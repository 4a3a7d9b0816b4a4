"""Kernels for CUDA, in Triton, which a build of torch for CUDA brings along: imported where there is a GPU alone."""
