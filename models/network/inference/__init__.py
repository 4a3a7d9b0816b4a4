"""A trained network prepared for fast decoding: in 8 bits on a CPU, by captured graphs on a GPU."""
