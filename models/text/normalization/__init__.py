"""Text normalization: what models read in the form that they know best, such as numbers in words as digits."""
