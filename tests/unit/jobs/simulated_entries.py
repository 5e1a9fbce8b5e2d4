"""Entries as tasks send them, of objects that nobody reads: a landing looks at entries, never at objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from lochan.formats.entry import Block, Entry
from lochan.jobs.messages import PoolTarget, TaskMessage


def entry(target: PoolTarget, path: str, *, bytes_of_facts: int = 100) -> Entry:
    digest = sha256(path.encode()).digest()
    block = Block(f"{target.repository_id}/data/{target.mint}-test/{digest.hex()[:20]}", 0, 1 + len(path), digest)
    metadata = {"note": (digest.hex() * (1 + bytes_of_facts // 64))[:bytes_of_facts]}
    return Entry(path, (block,), 1 + len(path), digest.hex()[:32], digest.hex()[:32], 1, metadata=metadata)


def messages_of(target: PoolTarget, paths: Iterable[str], *, bytes_of_facts: int = 100) -> Iterator[TaskMessage]:
    """One for each object, with a row in it."""
    for path in paths:
        made = entry(target, path, bytes_of_facts=bytes_of_facts)
        yield TaskMessage((made,), 1, made.size)


def shared_out(paths: Sequence[str], tasks: int) -> list[Sequence[str]]:
    return [paths[task::tasks] for task in range(tasks)]
