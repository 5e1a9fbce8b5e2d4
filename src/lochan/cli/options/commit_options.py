"""What a commit is to say, as options: for every verb that makes one by itself."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lochan.cli.options.values import notes, time
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.options import CommitOptions


F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-m", "--message", default="", help="What was done, and why."),
    click.option("--author", "--user", default="", metavar="NAME", help="Who did it, if not you."),
    click.option(
        "--meta", multiple=True, metavar="JSON|KEY=VALUE", help="Notes kept with the commit; may be repeated."
    ),
    click.option("--date", metavar="TIME", help="When it was done, in ISO 8601. Default: now."),
)


def commit_options(command: F) -> F:
    """Gives the command `message`, `author`, `meta` and `date`, for `said`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def commit_message(message: str, author: str, meta: tuple[str, ...], date: str | None) -> "CommitOptions":
    """Raises Invalid, naming the option."""
    from lochan.api.options import CommitOptions

    return CommitOptions(message=message, metadata=_notes(meta), author=author, date=time("--date", date))


def _notes(given: tuple[str, ...]) -> dict[str, str]:
    """An object's values that are no texts are kept as JSON."""
    found: dict[str, str] = notes(tuple(text for text in given if not text.lstrip().startswith("{")))
    for text in given:
        if text.lstrip().startswith("{"):
            for key, value in _object(text).items():
                if key in found:
                    raise Invalid(f"--meta {text!r}: {key!r} was already given", hint="keep one of the two")
                found[key] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"--meta {text[:80]!r}: this is no JSON ({error})", hint="such as --meta '{\"run\": 17}'"
        ) from None
    assert isinstance(found, dict), "what begins with a brace is an object"
    return found
