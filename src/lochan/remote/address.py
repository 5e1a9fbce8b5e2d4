"""The server of a lake, and the credentials for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lochan.api.blocking import Lake
    from lochan.api.lake import Lake as AsyncLake
    from lochan.remote.server import RemoteServer


@dataclass(frozen=True)
class RemoteAddress:
    """The address of a remote lake. It can be pickled, with its keys. The secret is not printed."""

    url: str
    version: str  # the version of this lochan; a server of another version is refused
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    author: str = ""
    key: str = ""  # the idempotency key of a command, from which further ones are made

    def connect(self) -> Lake:
        """Connects to the lake. The caller must close it."""
        from lochan.api.blocking import Lake
        from lochan.runtime import Runtime

        runtime = Runtime(self)
        try:
            verbs = runtime.wait(self.open_verbs())
        except BaseException:
            runtime.stop()
            raise
        return Lake(verbs, runtime)

    async def user(self) -> str:
        """Returns the user of the access key. Raises the server's error about the key."""
        server = self._server()
        try:
            return (await server.open(self.version)).user
        finally:
            await server.close()

    @asynccontextmanager
    async def opened_server(self) -> AsyncIterator[RemoteServer]:
        """Yields the server itself, without the verbs of its lake."""
        server = self._server()
        await server.open(self.version)
        try:
            yield server
        finally:
            await server.close()

    async def open_verbs(self) -> AsyncLake:
        """Connects to the lake, for a caller with an event loop."""
        from lochan.remote.nouns import RemoteLake

        server = self._server()
        await server.open(self.version)
        return cast("AsyncLake", RemoteLake(server))

    def _server(self) -> RemoteServer:
        from lochan.remote.server import RemoteServer, ServerKeys

        keys = ServerKeys(self.access_key, self.secret_key) if self.access_key else None
        return RemoteServer(self.url, keys, self.author, self.key)
