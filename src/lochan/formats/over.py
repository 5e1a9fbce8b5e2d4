"""A tree that stands for a branch's lowest runs over its head: named in events and checkpoints, on somebody's disk.

It says nothing that the runs and the head do not say; whoever reads a branch may take it in their place.
"""

import msgspec


class Over(msgspec.Struct, frozen=True, array_like=True):
    """Fields are only ever added at the end."""

    base: str  # the file of the tree that the runs lie over; "" for the empty one
    runs: tuple[str, ...]  # ids of the runs, oldest first; nothing lies between them, nor between them and the base
    tree: str  # its id
    file: str  # relative to the repository; "" for the empty tree
    whole: bool = False  # a commit of just these runs makes this very tree, address by address
