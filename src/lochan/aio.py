"""The same verbs for code that runs on an event loop.

    async with lochan.aio.connect("path/to/lake") as lake:
        main = lake.repository("shop").branch("main")
        await main.put("raw/fruit.csv", b"1,pear\\n")
        await main.commit("pears")
        async for commit in main.log():
            print(commit.message)

A lake belongs to the loop that opened it. `await lochan.aio.connect(…)` returns one that the caller closes.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from types import TracebackType
from typing import Any

from lochan.api.lake import Lake
from lochan.connection import LakeAddress, python_lake
from lochan.remote.address import RemoteAddress

__all__ = ["connect"]


class _LakeConnection:
    """A lake that `await` opens, or a block."""

    def __init__(self, address: LakeAddress | RemoteAddress) -> None:
        self._address = address
        self._lake: Lake | None = None

    def __await__(self) -> Generator[Any, None, Lake]:
        return self._address.open_verbs().__await__()

    async def __aenter__(self) -> Lake:
        self._lake = await self
        return self._lake

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._lake is not None:
            await self._lake.close()


def connect(
    place: str | os.PathLike[str] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
    journal_url: str | None = None,
    access_key: str = "",
    secret_key: str = "",
    profile: str | None = None,
) -> _LakeConnection:
    """Connects to a lake like `lochan.connect`, when it is awaited. Raises NotFound then if there is no lake."""
    keys = access_key, secret_key
    return _LakeConnection(python_lake(place, options, *keys, profile=profile, user=user, journal_url=journal_url))
