"""Access keys from a profile of an AWS credentials file. The file is read again and again, for its keys may be replaced
while a lake is open: tools that hand out keys for an hour write them there.
"""

from configparser import ConfigParser, Error, SectionProxy
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lochan.clock import SystemClock
from lochan.errors import Invalid, LochanError, NotFound

if TYPE_CHECKING:
    from obstore.store import S3Credential

_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}
_READ_AGAIN = timedelta(seconds=10)
_OBSTORE_MARGIN = timedelta(minutes=5)  # obstore asks for new keys this long before the old ones expire


def profile_path(file: str) -> Path:
    """Returns the path of a credentials file. An empty `file` means `~/.aws/credentials`."""
    return Path(file or "~/.aws/credentials").expanduser().absolute()


def profile_place(file: str, profile: str) -> dict[str, str]:
    """Returns the region and the endpoint of a profile, if it has them. Raises NotFound, Invalid."""
    section = _section(profile_path(file), profile)
    found = {"region": section.get("region", ""), "endpoint": section.get("endpoint_url", "")}
    return {name: value for name, value in found.items() if value}


def read_profile(file: str, profile: str) -> dict[str, str]:
    """Returns the access keys of one profile of an AWS credentials file (INI, as `aws configure` writes it), by the
    names of Lochan's options."""
    path = profile_path(file)
    section = _section(path, profile)
    keys = {ours: section[theirs] for theirs, ours in _NAMES.items() if section.get(theirs)}
    if not (keys.get("access_key_id") and keys.get("secret_access_key")):
        raise Invalid(
            f"the profile {profile!r} in {path} has no access keys: access_key_id and secret_access_key go together",
            hint="profiles with a role, SSO or a process are not followed; a tool that writes their keys there works",
        )
    return keys


def _section(path: Path, profile: str) -> SectionProxy:
    parser = ConfigParser(interpolation=None, default_section="")  # the profile `default` is treated like any other
    try:
        parser.read_string(path.read_text())
    except OSError as error:
        raise NotFound(f"the credentials file {path} cannot be read: {error.strerror}") from error
    except (Error, UnicodeDecodeError):
        # The cause is left out on purpose: its text may quote a line with a secret.
        raise Invalid(f"{path} is not a credentials file (INI)") from None
    if not parser.has_section(profile):
        known = ", ".join(parser.sections()) or "none"
        raise NotFound(f"the profile {profile!r} is not in {path}", hint=f"there are: {known}")
    return parser[profile]


class ProfileCredentials:
    """A function that obstore calls for keys. While the file cannot be read, perhaps because it is just being replaced,
    the last keys are used. Making it raises the errors of `read_profile`."""

    def __init__(self, file: str, profile: str) -> None:
        self._file = file
        self._profile = profile
        self._keys = read_profile(file, profile)

    def __call__(self) -> "S3Credential":
        with suppress(LochanError):
            self._keys = read_profile(self._file, self._profile)
        now = datetime.fromtimestamp(SystemClock().wall() / 1_000_000, UTC)
        return {
            "access_key_id": self._keys["access_key_id"],
            "secret_access_key": self._keys["secret_access_key"],
            "token": self._keys.get("session_token"),
            "expires_at": now + _OBSTORE_MARGIN + _READ_AGAIN,
        }
