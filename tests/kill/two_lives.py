"""Kills a child at every passing of every failpoint, judges what it has left, and lets a second life go on."""

import asyncio
from collections.abc import Collection, Coroutine
from pathlib import Path
from typing import Any, Protocol

from tests.kill.child import Order
from tests.kill.harness import failpoints_in_source
from tests.kill.life import live


class Judge(Protocol):
    def __call__(self, folder: Path, *, finished: bool) -> Coroutine[Any, Any, None]:
        """Looks at the lake below the folder: of a child that was killed, or of one that has finished."""


def kill_everywhere(
    child: str, folder: Path, judge: Judge, prefixes: tuple[str, ...], also: Collection[str] = ()
) -> None:
    """`child` is a module of tests/kill; the failpoints are those that begin like one of the prefixes, and `also`."""
    passed = _live(child, folder / "dry")
    assert passed is not None
    names = {name for name in failpoints_in_source() if name.startswith(prefixes)} | set(also)
    assert names <= passed.keys(), f"the child never passes {sorted(names - passed.keys())}"
    for name in sorted(names):
        for passing in range(1, passed[name] + 1):
            place = folder / f"{name}-{passing}"
            assert _live(child, place, name, passing) is None, "it was to die"
            asyncio.run(judge(place, finished=False))
            assert _live(child, place) is not None, "the next life goes on"
            asyncio.run(judge(place, finished=True))


def _live(child: str, folder: Path, at: str = "", passing: int = 1) -> dict[str, int] | None:
    """How often each failpoint was passed, or None if the process was killed there."""
    folder.mkdir(exist_ok=True)
    return live(child, Order(str(folder / "lake"), "", seed=1, life=0, at=at, passing=passing))
