"""Access keys from an AWS credentials file, the INI file that `aws configure` writes."""

from configparser import ConfigParser, Error
from pathlib import Path

from lochan.errors import Invalid, NotFound

_NAMES = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}


def read_profile(file: str, profile: str) -> dict[str, str]:
    """The keys of one profile, by our names. `file` is `~/.aws/credentials` when empty."""
    path = Path(file or "~/.aws/credentials").expanduser()
    parser = ConfigParser(interpolation=None, default_section="")  # AWS's own `default` is a profile like any other
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
    section = parser[profile]
    return {ours: section[theirs] for theirs, ours in _NAMES.items() if section.get(theirs)}
