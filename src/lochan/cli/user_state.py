"""The state that commands keep for a user, in the user's own files: the pool in use, and more."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.cli.target import Uri, ref_uri
from lochan.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lochan.config.load import Config


def in_use(config: "Config", lake_id: str) -> Uri:
    """Returns the pool in use, on which a verb works if none is named: from the setting `pool` (LOCHAN_POOL in the
    environment), or else from `lochan use`. Raises NotFound if there is none, Invalid for a text that names no pool."""
    configured = config.settings.pool
    if configured is not None:
        where, text = config.source("pool").text, configured
    else:
        where, text = str(_file(lake_id)), _read(lake_id)
    try:
        return ref_uri(text)
    except Invalid as error:
        raise Invalid(f"{where}: {error.message}", hint="`lochan use POOL` sets another") from None


def find_in_use(config: "Config", lake_id: str) -> Uri | None:
    try:
        return in_use(config, lake_id)
    except NotFound:
        return None


def use(lake_id: str, uri: Uri) -> None:
    write_file(_file(lake_id), f"{uri}\n")


def forget(lake_id: str) -> None:
    _file(lake_id).unlink(missing_ok=True)


def write_file(file: Path, text: str) -> None:
    """Writes the whole file or nothing, readable only by its owner."""
    make_folder(file.parent)
    new = file.with_suffix(f".{os.getpid()}")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
    new.replace(file)


def make_folder(folder: Path) -> None:
    from lochan.store.disk import make_private_folder

    make_private_folder(str(folder))


def _read(lake_id: str) -> str:
    try:
        return _file(lake_id).read_text().strip()
    except FileNotFoundError:
        raise NotFound(
            "no repository or pool was named, and none is in use",
            hint="name one, such as demo@main, or choose one with `lochan use POOL`",
        ) from None
    except UnicodeDecodeError:
        raise Invalid(f"{_file(lake_id)} is damaged", hint="`lochan use POOL` writes it again") from None


def _file(lake_id: str) -> Path:
    from lochan.connection import state_place

    return state_place() / "use" / lake_id
