"""Decoding: turns requests into translations, batch by batch or continuously as they arrive."""
