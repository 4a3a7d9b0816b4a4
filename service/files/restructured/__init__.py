"""Documents in reStructuredText, as Sphinx reads them."""
