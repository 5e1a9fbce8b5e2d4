"""A commit: a tree with its author, date, message and parents. Stored in events and checkpoints.

Its id is a SHA-256 of its content. The tree's *id* is part of that, but the tree's file is not, so a tree that is
written again gives the same commit.
"""

from hashlib import sha256

import msgspec


class Commit(msgspec.Struct, frozen=True, array_like=True):
    """A commit. Fields are only ever added at the end, and a new one is not part of the id unless its comment says
    so."""

    parents: tuple[str, ...]
    author: str
    committer: str
    message: str
    date: int  # microseconds since 1970
    metadata: dict[str, str]
    tree: str  # the id of the metarange
    tree_file: str  # the file of the tree; not part of the commit's id
    generation: int  # one more than the greatest generation of its parents; 0 for a first commit

    @property
    def id(self) -> str:
        """Returns the SHA-256 of the content, as 64 hex digits."""
        says = (
            _FORMAT,
            self.parents,
            self.author,
            self.committer,
            self.message,
            self.date,
            sorted(self.metadata.items()),
            self.tree,
            self.generation,
        )
        return sha256(_encoder.encode(says)).hexdigest()


_FORMAT = "lochan commit 1"
_encoder = msgspec.msgpack.Encoder()
