"""Greedy and beam search over a decoder protocol, independent of any network."""
