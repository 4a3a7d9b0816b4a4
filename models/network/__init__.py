"""The sentence Transformer and the architectures that read context."""
