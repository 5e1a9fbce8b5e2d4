"""Open multipart uploads and their parts."""

import msgspec

from lochan.errors import AlreadyExists, NotFound
from lochan.formats.entry import Block
from lochan.formats.repository_events import PartPut, UploadOpened
from lochan.journal.state import EventPosition
from lochan.journal.table import FoldTable, FoldTables


class UploadPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of an upload. Stored in checkpoints: fields may only be added at the end."""

    number: int
    blocks: tuple[Block, ...]
    size: int
    etag: str
    checksums: dict[str, str]
    time: int


class OpenUpload(msgspec.Struct, frozen=True):
    """An open upload without its parts, of which there may be 10,000. They are looked up by number."""

    opened: UploadOpened
    user: str
    time: int

    @property
    def id(self) -> str:
        return self.opened.id


class KeptUpload(msgspec.Struct, frozen=True, array_like=True):
    """An upload in a checkpoint. Stored on disk: fields may only be added at the end."""

    opened: UploadOpened
    user: str
    time: int
    parts: dict[int, UploadPart] = {}


class Uploads(FoldTables):
    """The open uploads. Putting a part costs the same however many there are, so an upload is folded in linear time."""

    def __init__(self) -> None:
        self._by_id: FoldTable[str, OpenUpload] = FoldTable()
        self._parts: FoldTable[tuple[str, int], UploadPart] = FoldTable()
        self._numbers: FoldTable[str, int] = FoldTable()  # the numbers of an upload's parts, as bits

    def get(self, id: str) -> OpenUpload:
        found = self._by_id.get(id)
        if found is None:
            raise NotFound(f"no upload {id!r} is open", hint="it was completed or aborted, or never begun")
        return found

    def find(self, id: str) -> OpenUpload | None:
        return self._by_id.get(id)

    def part(self, id: str, number: int) -> UploadPart | None:
        return self._parts.get((id, number))

    def parts(self, id: str) -> list[UploadPart]:
        """Returns the parts, sorted by number."""
        found = (self._parts.get((id, number)) for number in _set_bits(self._numbers.get(id) or 0))
        return [part for part in found if part is not None]

    def all(self) -> list[OpenUpload]:
        """Returns the uploads by path, then in the order in which they were opened, as S3 lists them."""
        found = (upload for _, upload in self._by_id.items())
        return sorted(found, key=lambda each: (each.opened.path.encode(), each.time, each.id))

    def open(self, event: UploadOpened, at: EventPosition) -> str:
        if event.id in self._by_id:
            raise AlreadyExists(f"upload {event.id!r} is open already")
        self._by_id.put(event.id, OpenUpload(event, at.user, at.time))
        return event.id

    def put(self, event: PartPut, at: EventPosition) -> str:
        upload = self.get(event.upload)
        self._put(upload.id, UploadPart(event.number, event.blocks, event.size, event.etag, event.checksums, at.time))
        return event.etag

    def close(self, id: str) -> None:
        upload = self.get(id)
        for part in self.parts(id):
            self._parts.drop((id, part.number))
        self._numbers.drop(id)
        self._by_id.drop(upload.id)

    def dump(self) -> list[KeptUpload]:
        return [
            KeptUpload(each.opened, each.user, each.time, {part.number: part for part in self.parts(each.id)})
            for each in self.all()
        ]

    def load(self, dumped: list[KeptUpload]) -> None:
        for kept in dumped:
            upload = OpenUpload(kept.opened, kept.user, kept.time)
            self._by_id.put(upload.id, upload)
            for part in kept.parts.values():
                self._put(upload.id, part)

    def _put(self, id: str, part: UploadPart) -> None:
        self._parts.put((id, part.number), part)
        self._numbers.put(id, (self._numbers.get(id) or 0) | 1 << part.number)


def _set_bits(mask: int) -> list[int]:
    text = bin(mask)[:1:-1]  # the lowest bit first
    return [number for number, bit in enumerate(text) if bit == "1"]
