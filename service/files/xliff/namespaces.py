"""The namespaces of XLIFF, which differ by version."""

from typing import Final

OLD: Final = ("{urn:oasis:names:tc:xliff:document:1.2}", "{urn:oasis:names:tc:xliff:document:1.1}", "")
"""Namespaces of 1.x; elements have none before 1.1, which TYPO3 still writes."""
NEW: Final = ("{urn:oasis:names:tc:xliff:document:2.0}", "{urn:oasis:names:tc:xliff:document:2.2}")
