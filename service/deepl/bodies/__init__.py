"""Bodies of requests and answers as DeepL's clients send and read them.

Options that the service cannot honour, such as a style, are left out on purpose, and so refused by name.
"""
