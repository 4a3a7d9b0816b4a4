"""The architectures that read context, one per paper, and their own layers."""
