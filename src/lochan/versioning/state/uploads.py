"""Multipart uploads that are open, with the parts that were put."""

import msgspec

from lochan.errors import AlreadyExists, NotFound
from lochan.formats.entry import Block
from lochan.formats.upload_events import PartPut, UploadOpened
from lochan.journal.state import At
from lochan.journal.table import Table


class Part(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    number: int
    blocks: tuple[Block, ...]
    size: int
    etag: str
    checksums: dict[str, str]
    time: int


class Upload(msgspec.Struct, frozen=True, array_like=True):
    """On somebody's disk, in checkpoints: fields are only ever added at the end."""

    opened: UploadOpened
    user: str
    time: int
    parts: dict[int, Part] = {}

    @property
    def id(self) -> str:
        return self.opened.id


class Uploads:
    def __init__(self) -> None:
        self._by_id: Table[str, Upload] = Table()

    def get(self, id: str) -> Upload:
        found = self._by_id.get(id)
        if found is None:
            raise NotFound(f"no upload {id!r} is open", hint="it was completed or aborted, or never begun")
        return found

    def find(self, id: str) -> Upload | None:
        return self._by_id.get(id)

    def all(self) -> list[Upload]:
        """By path, and then as they were opened: as S3 lists them."""
        found = (upload for _, upload in self._by_id.items())
        return sorted(found, key=lambda each: (each.opened.path.encode(), each.time, each.id))

    def open(self, event: UploadOpened, at: At) -> str:
        if event.id in self._by_id:
            raise AlreadyExists(f"upload {event.id!r} is open already")
        self._by_id.put(event.id, Upload(event, at.user, at.time))
        return event.id

    def put(self, event: PartPut, at: At) -> str:
        upload = self.get(event.upload)
        part = Part(event.number, event.blocks, event.size, event.etag, event.checksums, at.time)
        self._by_id.put(upload.id, msgspec.structs.replace(upload, parts={**upload.parts, event.number: part}))
        return event.etag

    def close(self, id: str) -> None:
        self._by_id.drop(self.get(id).id)

    def fork(self) -> "Uploads":
        fork = Uploads()
        fork._by_id = self._by_id.fork()
        return fork

    def join(self) -> None:
        self._by_id.join()

    def dump(self) -> list[Upload]:
        return self.all()

    def load(self, dumped: list[Upload]) -> None:
        for upload in dumped:
            self._by_id.put(upload.id, upload)
