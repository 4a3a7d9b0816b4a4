"""Training in two steps, checkpoints and evaluation."""
