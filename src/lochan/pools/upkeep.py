"""The policy of automatic upkeep: which pools and branches are compacted, and which are left unchanged.

The first rule whose pattern matches a pool's name applies, or the defaults if none does."""

from fnmatch import fnmatchcase
from typing import NamedTuple

EVERY_S = 300.0


class Policy(NamedTuple):
    """The thresholds below which objects stay as they are: reading a few side by side costs less than rewriting
    them."""

    overlapping_max: int = 1  # the number of objects that may overlap
    small_max: int = 1  # the number of small objects that may be neighbours


ALWAYS = Policy()
UPKEEP = Policy(4, 8)  # for automatic compactions


class Rule(NamedTuple):
    """The rule for a pool, with all defaults filled in."""

    branches: tuple[str, ...] = ()  # if there are none, the default branch
    compact: bool = True
    overlapping_max: int = UPKEEP.overlapping_max
    small_max: int = UPKEEP.small_max
    size_bytes: int = 0  # the size of the objects that a compaction makes; 0 for the pool's own

    @property
    def policy(self) -> Policy:
        return Policy(self.overlapping_max, self.small_max)


class Upkeep(NamedTuple):
    defaults: Rule = Rule()
    rules: tuple[tuple[str, Rule], ...] = ()  # by patterns of names, such as `logs-*`
    every_s: float = EVERY_S  # from the end of one round to the next

    def rule(self, pool: str) -> Rule:
        return next((rule for pattern, rule in self.rules if fnmatchcase(pool, pattern)), self.defaults)


STANDARD = Upkeep()
