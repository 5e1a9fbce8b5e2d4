"""Which names, ids and secrets may be given."""

import re

from lochan.errors import Invalid

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+=-]{0,127}")
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{3,128}")  # no slash, comma or equals sign: a signature's header is cut at these
_SECRET = re.compile(r"[!-~]{16,128}")


def check_user_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name!r} cannot be a user's name", hint=_NAME_HINT)


def check_policy_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name!r} cannot be a policy's name", hint=_NAME_HINT)


def check_key_id(id: str) -> None:
    if not _KEY_ID.fullmatch(id):
        raise Invalid(
            f"{id!r} cannot be an access key's id", hint="3 to 128 letters, digits, dots, dashes and underscores"
        )


def check_secret(secret: str) -> None:
    """What was given is never repeated."""
    if not _SECRET.fullmatch(secret):
        raise Invalid(
            f"the {len(secret)} characters that were given cannot be the secret of an access key",
            hint="16 to 128 printable ASCII characters without a space",
        )


_NAME_HINT = "up to 128 letters, digits and any of . _ @ + = -, beginning with a letter or a digit"
