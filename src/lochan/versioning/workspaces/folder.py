"""The folder of a workspace: plain files on the store, which anybody with the store's credentials may write.

    <repository>/workspaces/<id>/<logical path>      a file
    <repository>/workspaces/_committed/<id>          the lock: the commit that the workspace became

Nothing here asks the journal. The folder is a base as views read them; of a file it knows what the listing tells. Files
that the workspace's events have hidden are not shown, and never deleted.
"""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import unquote

import pyarrow as pa

from lochan.errors import Invalid, NotFound
from lochan.formats.entry import Entry
from lochan.formats.entry_table import as_batch
from lochan.store.protocol import Stat, Store, check_path
from lochan.versioning.bodies.listed import entries_table, entry_of
from lochan.versioning.bodies.outside import without_markers
from lochan.versioning.bodies.paths import check_key
from lochan.versioning.state.hidden_files import NO_FILES, HiddenFiles, file_stamp
from lochan.versioning.workspaces.several import several

FOLDER = "workspaces"
_LOCKS = "_committed"
_BATCH = 1_000  # files that are listed together: what a store gives with one request
_HEADS_AT_ONCE = 32
_LAST = "\U0010ffff"  # no character is greater


class Folder:
    def __init__(self, store: Store, repository: str, workspace: str, hidden: HiddenFiles = NO_FILES) -> None:
        self._store = store
        self._hidden = hidden
        self.root = f"{repository}/{FOLDER}/{workspace}/"
        self.lock = f"{repository}/{FOLDER}/{_LOCKS}/{workspace}"
        self.is_local = store.url.startswith("file://")

    def address(self, path: str) -> str:
        """The file for a path, which is kept byte for byte. Raises Invalid where no file could have that name."""
        check_key(path)
        try:
            check_path(self.root + path)
        except Invalid as error:
            raise Invalid(
                f"{path!r} cannot be a file of a workspace: {error.message}",
                hint="without control characters, and without empty, `.` or `..` segments; write others to the branch",
            ) from None
        return self.root + path

    def place(self, path: str = "") -> str:
        """Where others write: a file or folder on this machine's disk, or a URL. A slash at the end may stay."""
        if path.removesuffix("/"):
            self.address(path.removesuffix("/"))
        url = f"{self._store.url}/{self.root}"
        return unquote(url.removeprefix("file://")) + path if self.is_local else url + path

    # --- as a base ---------------------------------------------------------------------------------------------------
    async def get(self, path: str) -> Entry | None:
        """What no file can be named is not there."""
        stat = await self._find(path)
        if stat is None or (self._hidden.get(path) is not None and not await self._stamp(path, stat)):
            return None
        return entry_of(path, "", stat)

    async def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        """Those of the paths at which a file is shown, with its stamp."""

        async def stamp(path: str) -> str:
            stat = await self._find(path)
            return "" if stat is None else await self._stamp(path, stat)

        found = await several(stamp, paths, _HEADS_AT_ONCE)
        return {path: stamp for path, stamp in zip(paths, found, strict=True) if stamp}

    async def _find(self, path: str) -> Stat | None:
        try:
            return await self._store.head(self.address(path))
        except (Invalid, NotFound):
            return None

    async def _stamp(self, path: str, stat: Stat) -> str:
        """Empty for a file that is hidden. A bucket tells the time of a file more exactly when it lists than in the
        answer to a HEAD, so that stamps are always of listings there."""
        if not self.is_local:
            address = self.address(path)
            async for listed in self._store.list(address):
                if listed.path != address:
                    break
                stamp = file_stamp(listed)
                return "" if self._hidden.hides(path, stamp) else stamp
            return ""  # it went meanwhile
        stamp = file_stamp(stat)
        return "" if self._hidden.hides(path, stamp) else stamp

    async def scan(self, prefix: str = "", after: str = "") -> AsyncIterator[pa.RecordBatch]:
        """Lists from `after` on, a request's worth at a time. Raises Invalid for a name that could not be kept."""
        async for stats in self.stats(prefix, after):
            yield as_batch(entries_table(stats, "", self.root, ""))

    async def stats(self, prefix: str = "", after: str = "") -> AsyncIterator[list[Stat]]:
        """In path order; none of the lists is empty. The paths are those on the store."""
        batch: list[Stat] = []
        least = self.root + after
        async for stat in self._store.list(self.root + prefix, self.root + _shortened(after)):
            if stat.path > least:
                batch.append(stat)
            if len(batch) == _BATCH:
                found, batch = await self._files(batch), []
                if found:
                    yield found
        if batch := await self._files(batch):
            yield batch

    async def _files(self, batch: list[Stat]) -> list[Stat]:
        """Without what is hidden, and without the empty objects by which other programs mark a folder."""
        if len(self._hidden):
            at = len(self.root)
            batch = [stat for stat in batch if not self._hidden.hides(stat.path[at:], file_stamp(stat))]
        return batch if self.is_local else await without_markers(self._store, batch)


def _shortened(after: str) -> str:
    """Who jumps over a folder says so with a great many of the last character: too many for the name of a file."""
    return after.rstrip(_LAST) + _LAST if after.endswith(_LAST) else after
