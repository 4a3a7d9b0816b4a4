"""The sentence Transformer, the hooks by which architectures change it, and the state passed between sentences."""
