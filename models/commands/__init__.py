"""The commands of `python -m models`, one function each. Wiring only.

A command imports what it needs, so that --help does not wait for torch.
"""
