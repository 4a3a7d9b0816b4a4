"""How good translations are: compared with references, with wrong variants, and with and without context."""
