"""Finds the lake, its cache and the user's own state, if they are not named; and the user.

These functions are pure, except that they check whether files exist and ask the system for the user."""

import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lochan.config.kinds import SERVER_SCHEMES
from lochan.config.load import Config
from lochan.errors import Invalid, Refused

FOLDER = ".lochan"
MARK = "lake.json"  # the file that makes a folder a lake


class LakeLocation(NamedTuple):
    url: str
    source: str  # for people: `--lake`, `lochan.yaml, line 3`, `the nearest .lochan folder` …
    by_default: bool = False  # it was not named

    @property
    def folder(self) -> Path | None:
        """The folder on this machine's disks, or None for a store elsewhere."""
        return None if "://" in self.url else Path(self.url)


def find_lake(config: Config, *, cwd: Path, env: Mapping[str, str], home: Path) -> LakeLocation:
    """Returns the configured lake, or else the nearest `.lochan` upwards from `cwd` that is a lake, or else the user's
    own."""
    configured = configured_lake(config)
    if configured is not None:
        return lake_in(configured)
    nearest = nearest_folder(cwd)
    if nearest is not None:
        return LakeLocation(str(nearest), f"the nearest {FOLDER} folder")
    own = _xdg(env, "XDG_DATA_HOME", home / ".local" / "share")
    return LakeLocation(str(own), "the user's data folder", by_default=True)


def configured_lake(config: Config) -> LakeLocation | None:
    """Returns the lake by `lake` or `blockstore.local.path`: by the setting of the later layer, or by `lake` if both
    are of the same layer."""
    lake, path, kind = config.settings.lake, config.settings.blockstore.local.path, config.settings.blockstore.type
    by_lake, by_path = config.source("lake"), config.source("blockstore.local.path")
    by_folder = None if kind != "local" or path is None else LakeLocation(path, by_path.text)
    if lake is not None and not (by_folder and by_path.layer > by_lake.layer):
        _check_type(config, lake)
        return LakeLocation(lake, by_lake.text)
    if by_folder is not None:
        return by_folder
    if kind == "memory":
        return LakeLocation("memory://", config.source("blockstore.type").text)
    if kind != "local":
        raise Invalid(
            f"{config.source('blockstore.type').text}: blockstore.type is {kind}, but nothing says which bucket",
            hint=f"set `lake` too, such as lake: {_EXAMPLES[kind]}",
        )
    return None


def lake_in(place: LakeLocation) -> LakeLocation:
    """Returns the lake that `lochan init` has made in a folder which is not a lake itself: `connect(".")` and `--lake
    .` mean the same as a command that runs there."""
    folder = place.folder
    if folder is None or not os.path.isdir(folder / FOLDER):  # noqa: PTH112 - that of Path may raise
        return place
    if (folder / MARK).exists() or not _is_lake(folder / FOLDER):
        return place
    return place._replace(url=str(folder / FOLDER))


def is_server(url: str) -> bool:
    """Returns whether a lake is reached through a server."""
    return url.partition("://")[0] in SERVER_SCHEMES


def nearest_folder(cwd: Path) -> Path | None:
    for folder in (cwd, *cwd.parents):
        if _is_lake(folder / FOLDER):
            return folder / FOLDER
    return None


def cache_folder(config: Config, *, env: Mapping[str, str], home: Path) -> Path:
    given = config.settings.cache.path
    return Path(given) if given is not None else _xdg(env, "XDG_CACHE_HOME", home / ".cache")


def config_folder(*, env: Mapping[str, str], home: Path) -> Path:
    """Returns the folder of what the user has chosen, such as the servers that they have logged in to."""
    return _xdg(env, "XDG_CONFIG_HOME", home / ".config")


def state_folder(*, env: Mapping[str, str], home: Path) -> Path:
    """Returns the folder of the user's work in progress, which is not a cache, because its loss would matter."""
    return _xdg(env, "XDG_STATE_HOME", home / ".local" / "state")


_EXAMPLES = {"s3": "s3://bucket/prefix", "gs": "gs://bucket/prefix", "azure": "az://container/prefix"}
_TYPES = {"memory": "memory", "s3": "s3", "gs": "gs", "az": "azure"}  # by the lake's scheme; a folder has none


def _check_type(config: Config, lake: str) -> None:
    """Raises Invalid for a file whose `lake` and `blockstore.type` name different stores."""
    if is_server(lake):
        return
    kind = config.settings.blockstore.type
    expected = _TYPES[lake.partition("://")[0]] if "://" in lake else "local"
    here = config.source("blockstore.type")
    if config.is_set("blockstore.type") and here.layer == config.source("lake").layer and kind != expected:
        raise Invalid(
            f"{here.text}: blockstore.type is {kind}, but the lake is {config.shown('lake')}",
            hint="leave out blockstore.type: the lake's URL says what it is",
        )


def _xdg(env: Mapping[str, str], name: str, otherwise: Path) -> Path:
    """Returns the folder that the variable names. A relative path in it is ignored, as its specification demands."""
    given = env.get(name, "")
    return (Path(given) if given.startswith("/") else otherwise) / "lochan"


def _is_lake(folder: Path) -> bool:
    """Returns whether the folder is a lake. Only a missing file means that it is not one. Any other error is raised,
    because otherwise another lake would be used, and written to."""
    try:
        mark = (folder / MARK).stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        why = f"{folder}: {error.strerror}, so it is unknown whether it is a lake"
        raise Refused(why, hint=f"let this user read {folder}, or name the lake with --lake or LOCHAN_LAKE") from error
    if not stat.S_ISREG(mark.st_mode):
        raise Refused(
            f"{folder / MARK} is not a file", hint="move it away, or name the lake with --lake or LOCHAN_LAKE"
        )
    return True


def system_user() -> str:
    """Returns the user that runs this process, by the user's number, whatever the environment contains."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # users have no names in a bare container
        return f"uid-{os.getuid()}"
