"""One line of a picture of growth."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class GrowthMeasure(NamedTuple):
    name: str  # of the picture's file
    title: str
    unit: str
    cost: Callable[[Path, int], float]  # in an empty folder that the measures of a module share, at that size; in order
