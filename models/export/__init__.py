"""Export of a checkpoint to a bundle, which is checked before it is released; and the way back."""
