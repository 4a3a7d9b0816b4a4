"""Tokens per second in every way to translate, interleaved."""
