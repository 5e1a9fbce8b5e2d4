"""Which objects of one ref a list shows to one user: those that they may read, and that nothing forbids them to list.

Size, ETag and the very name of an object tell something of it, so what is denied is left out of lists, as if it were
not there; and a folder of nothing else with it.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lochan.access import resources
from lochan.access.rights import Rights

LIST, READ = "fs:ListObjects", "fs:ReadObject"


class VisibleObjects:
    def __init__(self, rights: Rights, ref: str) -> None:
        """`ref` is the resource of a branch, a tag or a commit. REQUIRES: used before the next await, or with rights
        that were new enough for the request (A1)."""
        self.rights = rights
        self._ref = ref

    def below(self, prefix: str) -> bool | None:
        """Of all paths that begin so: True, all are shown; False, none is; None, it depends on each."""
        front = resources.object_at(self._ref, prefix)
        readable = self.rights.allow_below(READ, front)
        return None if readable and self.rights.denies_below(LIST, front) else readable

    def each(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Of each path, whether it is shown."""
        on = pc.binary_join_element_wise(resources.object_at(self._ref, ""), paths, "")
        return pc.and_not(self.rights.allow_each(READ, on), self.rights.deny_each(LIST, on))
