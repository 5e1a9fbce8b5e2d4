"""Parses `repo@ref/path`, as people write it."""

from lochan.versioning.uri import HINT, Uri, on_branch, prefix_uri, writable

__all__ = ["HINT", "Uri", "on_branch", "prefix_uri", "writable"]
