"""Greedy and beam search over a decoder protocol; knows no network."""
