"""The options of a feed of a branch: its beginning, its treatment of rows that are not new, and the size of a batch."""

from typing import NamedTuple

WHOLE = ""  # the position before everything
LATEST, EARLIEST = "latest", "earliest"


class FeedOptions(NamedTuple):
    """A feed begins with all rows of the branch, unless a version or a time is given."""

    version: str = ""  # `latest`, `earliest`, or the first commit that is read
    timestamp: str = ""  # the feed begins with the commits from then on
    after: str = ""  # the last commit that is not read
    changes: bool = False  # whether deleted rows are reported too; then nothing ends the feed
    ignore_deletes: bool = False
    ignore_changes: bool = False
    skip_change_commits: bool = False
    commits_max: int = 0  # the most commits in one batch; 0 for any number
    bytes_max: int = 0  # the most bytes of added objects in one batch; 0 for any number. A commit is never cut in two

    @property
    def limited(self) -> bool:
        return bool(self.commits_max or self.bytes_max)

    @property
    def begins(self) -> bool:
        """Whether the options state where the feed begins."""
        return bool(self.version or self.timestamp or self.after)
