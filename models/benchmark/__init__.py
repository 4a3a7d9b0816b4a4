"""Interleaved measurements of the tokens per second of every way to translate."""
