"""Lochan: Git for data on an object store."""

__version__ = "0.1.0"
__all__ = ["__version__"]
