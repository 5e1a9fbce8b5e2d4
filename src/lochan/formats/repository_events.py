"""The first event of a repository's journal; what may follow is in `refs_events.py`. On somebody's disk."""

from typing import ClassVar

from lochan.formats.commit import Commit
from lochan.formats.events import Preparing


class RepositoryOpened(Preparing, frozen=True):
    """The repository is there, with its default branch and first commit, from this record on."""

    type: ClassVar[str] = "repository-opened"

    kind: str
    default_branch: str
    commit: Commit
