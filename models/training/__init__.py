"""Training in steps, and checkpoints."""
