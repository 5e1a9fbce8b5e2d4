"""Writes that a repository forbids: those to protected branches, to a read-only repository, and to a deleted one."""

import msgspec

from lochan.errors import Conflict, ReadOnly, Refused
from lochan.formats.repository_events import Protection, ProtectionSet, ReadOnlySet, RepositoryReopened
from lochan.journal.table import FoldTable, FoldTables
from lochan.versioning.state.protection import BranchRules, check_rules

_ON = "on"
RULES_2 = "protection-2"  # in checkpoints: some rules are of version 2
RULES_3 = "protection-3"  # in checkpoints: some rules are of version 3
_FEATURES = ((2, RULES_2), (3, RULES_3))


class DumpedGuard(msgspec.Struct, frozen=True, array_like=True):
    """The state in a checkpoint. Stored on disk: fields may only be added at the end."""

    rules: tuple[Protection, ...] = ()
    read_only: bool = False
    closed: int = 0


class Guard(FoldTables):
    def __init__(self) -> None:
        self._rules: FoldTable[str, tuple[Protection, ...]] = FoldTable()
        self._read_only: FoldTable[str, bool] = FoldTable()
        self._closed: FoldTable[str, int] = FoldTable()

    @property
    def rules(self) -> tuple[Protection, ...]:
        return self._rules.get(_ON) or ()

    @property
    def read_only(self) -> bool:
        return _ON in self._read_only

    @property
    def closed(self) -> int:
        """The number of the record that closed the repository because it was deleted, or 0 if it is open."""
        return self._closed.get(_ON) or 0

    def check_open(self) -> None:
        if self.closed:
            raise Refused("this repository was deleted", hint="`lochan repo list --deleted` shows what can be restored")

    def check_writable(self) -> None:
        if self.read_only:
            raise ReadOnly(
                "this repository is read-only", hint="`lochan repo read-only REPO --off` lets it be changed again"
            )

    def check(self, branch: str, action: str) -> None:
        """Raises Protected if the rules of the branch block the action."""
        if self.rules:  # rules are rare, and every write calls this
            self.of(branch).check(action)

    def of(self, branch: str) -> BranchRules:
        return BranchRules(branch, self.rules)

    def set_rules(self, event: ProtectionSet) -> None:
        check_rules(event.rules)
        self._rules.put(_ON, event.rules)

    def set_read_only(self, event: ReadOnlySet) -> None:
        if event.on:
            self._read_only.put(_ON, True)
        else:
            self._read_only.drop(_ON)

    def close(self, number: int) -> int:
        self._closed.put(_ON, number)
        return number

    def reopen(self, event: RepositoryReopened) -> None:
        if not self.closed or event.closed != self.closed:
            raise Conflict("this repository is not closed by that record", hint="it was reopened already")
        self._closed.drop(_ON)

    @property
    def needs(self) -> tuple[str, ...]:
        versions = {rule.version for rule in self.rules}
        return tuple(name for version, name in _FEATURES if any(each >= version for each in versions))

    # --- checkpoints -------------------------------------------------------------------------------------------------
    def dump(self) -> DumpedGuard:
        return DumpedGuard(self.rules, self.read_only, self.closed)

    def load(self, dumped: DumpedGuard) -> None:
        self._rules.put(_ON, dumped.rules)
        self.set_read_only(ReadOnlySet(dumped.read_only))
        if dumped.closed:
            self.close(dumped.closed)
