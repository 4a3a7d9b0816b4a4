"""The architectures that read context, one for each paper, and their own layers."""
