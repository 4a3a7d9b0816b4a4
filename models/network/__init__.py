"""The sentence Transformer, what architectures may change of it, and what a sentence leaves to the next one."""
