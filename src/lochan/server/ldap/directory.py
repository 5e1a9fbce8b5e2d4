"""Asks the directory on threads of its own, within a time limit, so that a directory that hangs costs a login its
answer and nothing else."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from lochan.access.external import ExternalIdentity, ProviderGroups
from lochan.clock import Clock
from lochan.server.api.errors import HttpError
from lochan.server.ldap.connection import DirectoryConnection, DirectoryFailure
from lochan.server.ldap.lookup import find_identity
from lochan.server.ldap.settings import DirectorySettings

_AT_ONCE = 16
_STEP_S = 0.25  # longer than most directories need, and too short to annoy anybody
_log = logging.getLogger("lochan.server")


class Directory:
    def __init__(self, settings: DirectorySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._threads = ThreadPoolExecutor(_AT_ONCE, "lochan-directory")

    @property
    def groups(self) -> ProviderGroups:
        return self._settings.groups

    async def identity(self, name: str, password: str) -> ExternalIdentity | None:
        """Returns the identity with this name and password, or None. How long a failure takes does not reveal whether
        the name exists. Raises 503 if the directory does not answer in time."""
        begun = self._clock.boot()
        found = await self._ask(name, password)
        if found is None:
            took_s = self._clock.boot() - begun
            await self._clock.sleep(_STEP_S - took_s % _STEP_S)
        return found

    async def _ask(self, name: str, password: str) -> ExternalIdentity | None:
        connection = DirectoryConnection(self._settings)
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, find_identity, connection, self._settings, name, password
        )
        try:
            return await asyncio.wait_for(work, self._settings.timeout_s)
        except TimeoutError:
            connection.abort()
            seconds = f"{self._settings.timeout_s:g} seconds"
            _log.error("a login failed: the directory %s gave no answer within %s", self._settings.address, seconds)
            raise _unavailable_error("gives no answer") from None
        except DirectoryFailure as error:
            _log.error("a login failed: %s", error)
            raise _unavailable_error("cannot be asked") from None

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _unavailable_error(what: str) -> HttpError:
    return HttpError(
        503,
        f"the directory that knows names and passwords {what} at the moment: try again later, or sign in with an "
        "access key. The server's log says more",
        retry_after="5",
    )
