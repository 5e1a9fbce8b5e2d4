"""The servers that a user has logged in to, by the names of profiles, with an access key for each. They are in a file
of the user that others must not be able to read."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from lochan.errors import Invalid, NotFound, Refused

DEFAULT = "default"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    access_key_id: str
    secret_access_key: str

    def __repr__(self) -> str:
        return f"Profile({self.url!r}, {self.access_key_id!r})"


def read_profiles(file: Path) -> dict[str, Profile]:
    """Returns the profiles, or none if the user has not logged in. Raises Invalid for a damaged file, and Refused for
    one that others may read."""
    try:
        with file.open("rb") as stream:
            mode, data = os.fstat(stream.fileno()).st_mode, stream.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise Refused(f"{file} has secrets, and others may read it", hint=f"chmod 600 {file}")
    try:
        return msgspec.json.decode(data, type=dict[str, Profile])
    except msgspec.DecodeError as error:
        raise Invalid(f"{file} is damaged: {error}", hint="remove it, and log in again") from None


def encode(profiles: Mapping[str, Profile]) -> str:
    return msgspec.json.format(msgspec.json.encode(profiles)).decode() + "\n"


def find_profile(profiles: Mapping[str, Profile], name: str) -> Profile:
    """Returns the profile. Raises NotFound."""
    if name not in profiles:
        known = f"there are {', '.join(sorted(profiles))}" if profiles else "`lochan login URL` makes one"
        raise NotFound(f"there is no profile {name!r}", hint=known).named(name, lambda: list(profiles))
    return profiles[name]


def at(profiles: Mapping[str, Profile], url: str) -> Profile | None:
    """Returns the profile of a server. If there are several, the default one comes first."""
    order = sorted(profiles.items(), key=lambda item: (item[0] != DEFAULT, item[0]))
    return next((each for _, each in order if each.url.rstrip("/") == url.rstrip("/")), None)
