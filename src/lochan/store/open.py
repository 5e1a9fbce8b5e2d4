"""From a URL to a store, and from a store to the stack of wrappers that the lake works with."""

from collections.abc import Mapping

from lochan.clock import Clock
from lochan.errors import Invalid
from lochan.store.paths import check_path
from lochan.store.protocol import Store

_NONE: Mapping[str, str] = {}


def open_store(
    url: str, options: Mapping[str, str] = _NONE, *, create: bool = False, clock: Clock | None = None
) -> Store:
    """`s3://bucket/prefix`, `gs://…`, `az://container/prefix`, `memory://name`, `file:///folder` or a folder's path.

    `create` makes a missing local folder; a bucket is never made. Nothing is asked of a remote store yet.
    """
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
            # Here, because a command on a local lake should not pay for loading the clients.
            from lochan.store.clouds import connect
            from lochan.store.remote import RemoteStore

            bucket, _, prefix = rest.partition("/")
            if prefix := prefix.strip("/"):
                check_path(prefix)
            return RemoteStore(connect(scheme, bucket, prefix, options), f"{scheme}://{bucket}/{prefix}")
        case _:
            raise Invalid(f"{url}: {scheme}:// is not a store", hint="known are file, memory, s3, gs and az")


def _file_path(url: str, rest: str) -> str:
    from urllib.parse import unquote

    path = unquote(rest.removeprefix("localhost"))
    if not path.startswith("/"):
        raise Invalid(f"{url} must have three slashes: file:///folder", hint="or give the path alone")
    return path


def _no_options(url: str, options: Mapping[str, str]) -> None:
    if options:
        raise Invalid(f"{url}: this store takes no options, but was given {', '.join(sorted(options))}")
