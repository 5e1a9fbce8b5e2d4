"""The lake's default retention rules: a part of the state of the lake's journal.

    lake's journal         default-retention-set   number 7
    repository's journal   retention-set           default=7: the lake's rules, as far as they fit this repository
                           retention-set           default=0: rules of its own, which the lake's never replace

The rules that apply in a repository are always in its own journal, so that a garbage collection sees a single state.
A repository adopts the lake's rules before anything follows them (`collection/take_default_rules.py`).
"""

from collections.abc import Callable
from typing import ClassVar

import msgspec

from lochan.formats.collection_events import DefaultRetentionSet, DropRule, RetentionSet
from lochan.formats.events import Event
from lochan.journal.state import EventPosition, StatePart
from lochan.journal.table import FoldTable, FoldTables
from lochan.versioning.state.retention_checks import check_retention

_ON = "on"

Fits = Callable[[DropRule], bool]  # whether a rule can apply to a repository


class DefaultRules(msgspec.Struct, frozen=True, array_like=True):
    """The default rules. Stored in checkpoints: fields may only be added at the end."""

    number: int  # the number of the record that set them
    rules: RetentionSet

    def fitted(self, fits: Fits) -> RetentionSet:
        """Returns the rules for one repository. Branches that a rule names need not exist."""
        drops = tuple(rule for rule in self.rules.drops if fits(rule))
        return msgspec.structs.replace(self.rules, drops=drops, default=self.number)


class DefaultRetention(FoldTables, StatePart):
    name: ClassVar[str] = "retention"
    events: ClassVar[tuple[type[Event], ...]] = (DefaultRetentionSet,)

    def __init__(self) -> None:
        self._rules: FoldTable[str, DefaultRules] = FoldTable()

    def find(self) -> DefaultRules | None:
        """Returns the rules, or None if they were never set."""
        return self._rules.get(_ON)

    def apply(self, event: DefaultRetentionSet, at: EventPosition) -> int:
        check_retention(event.rules)
        self._rules.put(_ON, DefaultRules(at.number, event.rules))
        return at.number

    def dump(self) -> list[DefaultRules]:
        return [rules for _, rules in self._rules.items()]

    def load(self, dumped: msgspec.Raw) -> None:
        for rules in _decoder.decode(dumped):
            self._rules.put(_ON, rules)


_decoder = msgspec.msgpack.Decoder(list[DefaultRules])


def in_force(here: RetentionSet | None, default: DefaultRules | None, fits: Fits) -> RetentionSet:
    """Returns the rules that apply in a repository. `here` are the rules set in it, or None if none were ever set."""
    if here is not None and (default is None or here.default in (0, default.number)):
        return here
    return RetentionSet() if default is None else default.fitted(fits)
