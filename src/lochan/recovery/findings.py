"""Findings about files, in words that every user understands: their meaning, and what can be done.

The table of kinds is the contract: scripts match on them, tests plant each of them, and the page for operators lists
them. Kinds are only ever added."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

DAMAGE, NOTE = "damage", "note"


class FindingKind(NamedTuple):
    meaning: str
    remedy: str
    level: str = DAMAGE


_RESTORE = "restore the file from a backup"
_REPAIR = "`lochan fsck --repair` makes it again if its inputs are there"
_COLLECT = "nothing has to be done: `lochan gc run` collects it"

KINDS: dict[str, FindingKind] = {
    # --- the lake
    "lake-missing": FindingKind("there is no lake.json, so this is no lake", _RESTORE),
    "lake-damaged": FindingKind("the lake cannot be opened", _RESTORE),
    "key-damaged": FindingKind("what was signed or encrypted with this key cannot be read", _RESTORE),
    "key-missing": FindingKind(
        "access keys are encrypted with a key that is not in the lake: nobody can log in with them",
        f"nothing has to be done if `auth.encrypt` gives the key; else {_RESTORE}",
        NOTE,
    ),
    "job-damaged": FindingKind(
        "the record of a job cannot be read; nothing depends on it", "`lochan fsck --repair` moves it aside"
    ),
    "report-damaged": FindingKind(
        "a report cannot be read; nothing depends on it", "`lochan fsck --repair` moves it aside"
    ),
    # --- journals
    "record-damaged": FindingKind("the record fails its checksum; nothing from it on can be read", _RESTORE),
    "record-missing": FindingKind(
        "a record is gone and later ones are there; nothing from it on can be read", _RESTORE
    ),
    "record-misplaced": FindingKind("another record is in this place; nothing from it on can be read", _RESTORE),
    "record-foreign": FindingKind("a record of another journal is in this place", _RESTORE),
    "chain-broken": FindingKind("the record does not continue the one before it", _RESTORE),
    "segment-damaged": FindingKind(
        "256 records cannot be read", "`lochan fsck --repair` packs it again while its slots are there; else restore it"
    ),
    "mirror-damaged": FindingKind(
        "a copy of the database's journal cannot be read", "the next mirror of the journal writes it again"
    ),
    "slot-superseded": FindingKind("the record is in a segment, which alone counts", _COLLECT, NOTE),
    "slot-differs": FindingKind(
        "a late write has landed in a place whose segment is final; it was never acknowledged, and no reader sees it",
        _COLLECT,
        NOTE,
    ),
    "event-invalid": FindingKind("an event contradicts the state before it; it changes nothing", "report this", NOTE),
    "format-newer": FindingKind("a newer Lochan has written this", "check the lake with that version"),
    # --- checkpoints
    "checkpoint-damaged": FindingKind("a start takes longer; nothing is lost", _REPAIR),
    "checkpoint-differs": FindingKind("a reader that starts from it may see a state that never was", _REPAIR),
    # --- trees and runs
    "metarange-missing": FindingKind("a commit's tree cannot be read", _REPAIR),
    "metarange-damaged": FindingKind("a commit's tree cannot be read", _REPAIR),
    "range-missing": FindingKind("some paths of commits cannot be read", _REPAIR),
    "range-damaged": FindingKind("some paths of commits cannot be read", _REPAIR),
    "run-missing": FindingKind("uncommitted changes cannot be read", _REPAIR),
    "run-damaged": FindingKind("uncommitted changes cannot be read", _REPAIR),
    "aliases-missing": FindingKind("bytes that have moved cannot be found, and readers are told so", _RESTORE),
    "aliases-damaged": FindingKind("bytes that have moved cannot be found, and readers are told so", _RESTORE),
    "plan-missing": FindingKind("the list of a garbage collection's plan is gone; nothing is deleted by it", _RESTORE),
    "plan-damaged": FindingKind("the list of a garbage collection's plan is damaged", _RESTORE),
    # --- data
    "data-missing": FindingKind("the bytes of an object are gone", _RESTORE),
    "data-short": FindingKind("the file has fewer bytes than an object needs of it", _RESTORE),
    "data-damaged": FindingKind("the bytes of an object are not those that were written", _RESTORE),
    # --- other files
    "file-foreign": FindingKind(
        "Lochan did not write this file, and never touches it", "remove it if it is not yours", NOTE
    ),
    "file-unnamed": FindingKind("nothing names these files: writes that broke off, or old versions", _COLLECT, NOTE),
    "repository-unnamed": FindingKind(
        "a folder of a repository that was deleted, or was never finished",
        "`lochan gc run --deleted` finds it, and collects it later",
        NOTE,
    ),
    "upload-open": FindingKind("a multipart upload was begun and never finished", "abort it, or let it expire", NOTE),
    "file-temporary": FindingKind(
        "a process was killed while it wrote this", "it can be deleted if it is a day old", NOTE
    ),
    "file-quarantined": FindingKind(
        "a repair has moved it aside", "look at it, and delete it when it is not needed", NOTE
    ),
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    kind: str  # a name of KINDS
    path: str  # the path of the file; for several files of one kind, the first
    repository: str = ""  # the name of the repository; empty for the lake itself
    detail: str = ""  # details of the damage
    count: int = 1  # the number of files
    bytes: int = 0
    repaired: str = ""  # the work of a repair; empty if there was none

    @property
    def is_damage(self) -> bool:
        return KINDS[self.kind].level == DAMAGE

    @property
    def meaning(self) -> str:
        return KINDS[self.kind].meaning

    @property
    def remedy(self) -> str:
        return KINDS[self.kind].remedy
