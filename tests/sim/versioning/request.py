"""The request of a client, recorded beside the journal: the events say what was done, not what was meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType


@dataclass(frozen=True)
class ClientRequest:
    verb: str
    branch: str = ""
    since: int = 0  # the last record that was known to somebody when it was asked
    paths: tuple[str, ...] = ()  # of a commit: only these; nothing: all
    source: str = ""  # of a merge: the branch it takes from
    commit: str = ""  # of a revert or a cherry-pick
    strategy: str = "default"
    puts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # of an import or a file
    workspace: str = ""
    to: str = ""  # of a rename
    commits_first: bool = False  # of a merge: what is staged is committed in the same event

    def begun(self, since: int) -> "ClientRequest":
        return replace(self, since=since)

    def takes(self, path: str) -> bool:
        return not self.paths or path in self.paths


FILE = "put file"  # in a workspace: a plain file, of which the journal knows nothing until it is committed
NOBODY = ClientRequest("upkeep")
