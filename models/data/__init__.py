"""Preparation of data, from corpus files to batches of tensors."""
