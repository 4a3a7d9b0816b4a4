"""Which release this is."""

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """Return the version of the installed package; `unknown` in a source tree that has not been installed."""
    try:
        return version("antecedent")
    except PackageNotFoundError:
        return "unknown"
