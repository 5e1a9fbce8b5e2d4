"""What is kept in order by itself: which pools, which of their branches, and what is still left alone.

The first rule whose pattern fits a pool's name counts; a pool that none fits goes by the defaults.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple

EVERY_S = 300.0


class Policy(NamedTuple):
    """What is left alone: a few objects side by side cost less than to write them again."""

    overlapping_max: int = 1  # so many may run into each other
    small_max: int = 1  # so many small neighbours may stand in a row


ALWAYS = Policy()
UPKEEP = Policy(4, 8)  # for what goes on by itself, again and again


class Rule(NamedTuple):
    """Of one pool, all told."""

    branches: tuple[str, ...] = ()  # none: its default branch
    compact: bool = True
    overlapping_max: int = UPKEEP.overlapping_max
    small_max: int = UPKEEP.small_max
    size_bytes: int = 0  # of an object that a compaction makes; 0: the pool's own

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
