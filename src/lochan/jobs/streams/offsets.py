"""How far a stream has read its topics: kept in the commit that holds the rows, so the two cannot disagree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lochan.errors import Corrupt
from lochan.jobs.landing import Once
from lochan.versioning.graph import LookUp, by_generation

OFFSETS = "lochan-offsets"  # in a commit's metadata, on somebody's disk

Partition = tuple[str, int]  # a topic, and the number of its part
Offsets = Mapping[Partition, int]  # the next message of each


class Position(NamedTuple):
    batch: int = -1  # the last that landed; -1: none did
    offsets: Offsets = MappingProxyType({})
    since: str = ""  # a head behind which there is nothing of the stream; "": its own batches tell

    def next(self, stream: str) -> Once:
        """Only one writer can land it: who comes second finds that it is there, and reads on behind it."""
        return Once(stream, self.batch + 1, self.since)


def newest(look_up: LookUp, head: str, stream: str) -> Position:
    """As the history of this head tells it, down to where `found_again` looks for a batch: what a merge has brought in
    counts too. Raises Corrupt."""
    once = Once(stream)
    batch, offsets = -1, dict[Partition, int]()
    line, lowest = head, 0
    for id, commit in by_generation(look_up, head):
        if commit.generation < lowest:
            break
        own = once.batch_of(commit)
        if own is not None:
            batch = max(batch, own)
            for part, at in decode(commit.metadata.get(OFFSETS, ""), id).items():
                offsets[part] = max(at, offsets.get(part, 0))
        if id == line:
            line = commit.parents[0] if commit.parents else ""
            lowest = commit.generation if own is not None else lowest
    return Position(batch, offsets, head if batch < 0 else "")


def encode(offsets: Offsets) -> str:
    """`{"orders": {"0": 17, "1": 9}}`"""
    topics: dict[str, dict[str, int]] = {}
    for (topic, part), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(part)] = offset
    return json.dumps(topics)


def decode(text: str, commit: str) -> dict[Partition, int]:
    try:
        found = json.loads(text)
        return {(topic, int(part)): int(at) for topic, parts in found.items() for part, at in parts.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise Corrupt(f"commit {commit} does not tell how far its stream had read: {error}") from error
