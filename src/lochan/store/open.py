"""Opens a store: from a URL or a `StoreLocation` to a store, and from a store to the stack of wrappers that the lake
uses:

    retry      repeats calls that may be repeated
    counting   counts each attempt, on request
    the store  as `open_store` returned it"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lochan.clock import Clock
from lochan.errors import Invalid, LochanError, Refused
from lochan.ids import Ids
from lochan.store.protocol import Store, check_path
from lochan.store.retry import DEADLINE_S, RetryStore, nothing_is_immutable

if TYPE_CHECKING:
    from lochan.store.counts import RequestCounts


_NONE: Mapping[str, str] = {}


def open_store(
    url: str, options: Mapping[str, str] = _NONE, *, create: bool = False, clock: Clock | None = None
) -> Store:
    """Opens `s3://bucket/prefix`, `gs://…`, `az://container/prefix`, `memory://name`, `file:///folder` or a folder's
    path.

    `create` makes a missing local folder; a bucket is never created. Sends nothing to a remote store yet."""
    scheme, found, rest = url.partition("://")
    if not found:
        scheme, rest = "file", url
    elif scheme == "file":
        rest = _file_path(url, rest)
    match scheme:
        case "file":
            from lochan.store.local import LocalStore

            _no_options(url, options)
            return LocalStore(rest, create=create, clock=clock)
        case "memory":
            from lochan.store.memory import MemoryStore

            _no_options(url, options)
            return MemoryStore(rest, clock)
        case "s3" | "gs" | "az":
            # Imported here, because a command on a local lake should not pay for loading the clients.
            from lochan.store.clouds import connect
            from lochan.store.remote import RemoteStore

            bucket, _, prefix = rest.partition("/")
            if prefix := prefix.strip("/"):
                check_path(prefix)
            return RemoteStore(connect(scheme, bucket, prefix, options), f"{scheme}://{bucket}/{prefix}")
        case _:
            raise Invalid(f"{url}: {scheme}:// is not a store", hint="choose file, memory, s3, gs or az")


def _file_path(url: str, rest: str) -> str:
    from urllib.parse import unquote

    path = unquote(rest.removeprefix("localhost"))
    if not path.startswith("/"):
        raise Invalid(f"{url} must have three slashes: file:///folder", hint="or give the path alone")
    return path


def _no_options(url: str, options: Mapping[str, str]) -> None:
    if options:
        raise Invalid(f"{url}: this store takes no options, but was given {', '.join(sorted(options))}")


def stack(
    store: Store,
    *,
    clock: Clock,
    ids: Ids,
    immutable: Callable[[str], bool] = nothing_is_immutable,
    retry_s: float = DEADLINE_S,
    counts: "RequestCounts | None" = None,
) -> Store:
    """Wraps the store. `immutable` returns whether a path is written only once, for resuming a broken stream."""
    if counts is not None:
        # Imported where it is used: a short command should not pay for a wrapper that it does without.
        from lochan.store.counts import CountingStore

        store = CountingStore(store, counts)
    return RetryStore(store, clock, ids, deadline_s=retry_s, immutable=immutable)


_PROFILE = ("profile", "credentials_file")


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """The place of a store, and the options to open it in another process. It can be pickled. The options may contain
    secrets, so nothing prints them."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # the keys of the profile, as read by the sender
    host: str = ""  # the machine that has the profile's file; empty if it may be on any machine
    routes: "Mapping[str, StoreLocation]" = field(
        default_factory=dict, repr=False
    )  # the locations of repositories that lie elsewhere

    def open(self, *, clock: Clock, ids: Ids) -> Store:
        """Opens the store, with retries if it is behind a network."""
        from lochan.store.open import open_store, stack

        store = open_store(self.url, self._options_here(), clock=clock)
        whole = store if store.url.startswith("file://") else stack(store, clock=clock, ids=ids)
        if not self.routes:
            return whole
        from lochan.store.routed import RoutedStore

        opened: dict[str, Store] = {}

        def route(id: str) -> Store | None:
            if id in self.routes and id not in opened:
                opened[id] = self.routes[id].open(clock=clock, ids=ids)
            return opened.get(id)

        return RoutedStore(whole, route, lambda: list(self.routes))

    def of(self, address: str) -> "StoreLocation":
        """Returns the location of a file of the lake, by its path there."""
        return self.routes.get(address.partition("/")[0], self)

    def at(self, url: str) -> "StoreLocation":
        """Returns another location, with the same credentials."""
        return StoreLocation(url) if url.startswith("file://") else replace(self, url=url, routes={})

    def for_others(self) -> "StoreLocation":
        """Returns the location for other machines. The keys of a profile are read here, because its file may exist only
        here; where it exists, its keys are read again, so that work continues when they are replaced. Raises Refused
        for a store in this process' memory."""
        if self.url.startswith("memory://"):
            raise Refused("a lake in memory exists only in one process", hint="make it in a folder or a bucket")
        routes = {id: each.for_others() for id, each in self.routes.items()}
        if self.keys or not self._has_profile():
            return replace(self, routes=routes) if routes else self
        from lochan.store.profile import profile_path

        # The default file is in the user's home. On another machine, it may belong to another user.
        host = "" if self.options.get("credentials_file") else os.uname().nodename
        file = str(profile_path(self.options.get("credentials_file", "")))
        return StoreLocation(self.url, {**self.options, "credentials_file": file}, self._read_profile(), host, routes)

    def with_keys(self) -> "StoreLocation":
        """Returns the location with the current keys of its profile, for a process that cannot read a profile."""
        if not self._has_profile():
            return self
        rest = {name: value for name, value in self.options.items() if name not in _PROFILE}
        return StoreLocation(self.url, {**rest, **self._read_profile()})

    def _has_profile(self) -> bool:
        return any(self.options.get(name) for name in _PROFILE)

    def _read_profile(self) -> dict[str, str]:
        from lochan.store.profile import read_profile

        return read_profile(self.options.get("credentials_file", ""), self.options.get("profile") or "default")

    def _options_here(self) -> Mapping[str, str]:
        if not self.keys:
            return self.options
        if self.host in ("", os.uname().nodename):
            with suppress(LochanError):
                self._read_profile()
                return self.options
        rest = {name: value for name, value in self.options.items() if name not in _PROFILE}
        return {**rest, **self.keys}
