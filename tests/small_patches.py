"""Patches of small ranges, for tests: whatever may become a patch of a range becomes one, however small the range is.

A repository of a few paths then has the files that a large one gets: bases, patches of them, and ranges as a whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from lochan.tree import patches
from lochan.tree.patches import PatchLimits

ALWAYS = PatchLimits(1, 1)


@contextmanager
def small_patches(limits: PatchLimits = ALWAYS) -> Iterator[None]:
    """For all trees that are opened within, except those that are told otherwise."""
    before = patches.STANDARD
    patches.STANDARD = limits
    try:
        yield
    finally:
        patches.STANDARD = before
