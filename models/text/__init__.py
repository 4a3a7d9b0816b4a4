"""Text as people and programs write it: its marks, terms and numbers, and what of it a model does not read.

What comes out of a text before a model reads it goes into the translation afterwards. Nothing here knows a model but by
its tokenizer.
"""
