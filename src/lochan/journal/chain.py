"""The hash chain: each record names the digest of the one before it, so a gap, a swap or a forgery shows."""

from typing import Protocol

from lochan.errors import Corrupt
from lochan.formats.record import Sealed


class Folder(Protocol):
    """Whatever takes in records one after the other: the state itself, or something that only reads along."""

    @property
    def journal(self) -> str: ...

    @property
    def number(self) -> int:
        """Of the last record taken in."""

    def fold(self, sealed: Sealed) -> None: ...


def check_link(sealed: Sealed, journal: str, number: int, digest: bytes | None) -> None:
    """Raises Corrupt unless the record stands right after record `number`; digest None: that one was not seen."""
    record = sealed.record
    if record.journal != journal:
        raise Corrupt(f"record {number + 1} in {journal} belongs to {record.journal}", hint=_RESTORE)
    if record.number != number + 1:
        raise Corrupt(f"record {number + 1} of {journal} says it is {record.number}", hint=_RESTORE)
    if digest is not None and record.previous != digest:
        raise Corrupt(f"record {record.number} of {journal} does not continue record {number}", hint=_RESTORE)


class Chain:
    """Reads along without a state: checks the links and keeps the records until they are taken."""

    def __init__(self, journal: str, number: int, digest: bytes | None) -> None:
        self.journal = journal
        self.number = number
        self.digest = digest
        self._kept: list[Sealed] = []

    def fold(self, sealed: Sealed) -> None:
        check_link(sealed, self.journal, self.number, self.digest)
        self.number, self.digest = sealed.record.number, sealed.digest
        self._kept.append(sealed)

    def take(self) -> list[Sealed]:
        kept, self._kept = self._kept, []
        return kept


_RESTORE = "the journal's files were changed or mixed up; restore them from a copy of the lake"
