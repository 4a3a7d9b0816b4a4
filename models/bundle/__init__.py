"""Bundles: the folders that training hands to serving, with a manifest that describes them."""
