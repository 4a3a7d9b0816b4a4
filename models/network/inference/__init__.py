"""A trained network made ready to be decoded with: in 8 bits on a CPU, by captured graphs on a GPU."""
