"""Checkpoint to bundle, checked before it is written; and back."""
