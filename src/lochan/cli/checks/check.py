"""What a check found: ok, warn or fail, what was seen, and what to do about it."""

from typing import NamedTuple

from lochan.cli import exit_codes
from lochan.cli.boundary import explained
from lochan.errors import LochanError

OK, WARN, FAIL = "ok", "warn", "fail"


class Check(NamedTuple):
    name: str
    status: str
    found: str
    advice: str = ""
    exit_code: int = exit_codes.ERROR  # of a failed one


def failed(name: str, error: LochanError | OSError) -> Check:
    ours = error if isinstance(error, LochanError) else explained(error)
    return Check(name, FAIL, ours.message, ours.hint, exit_codes.BY_KIND[ours.kind])
