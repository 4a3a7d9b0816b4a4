"""From corpus files to batches of tensors."""
