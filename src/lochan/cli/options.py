"""Options that many commands share, and the values of their texts."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from lochan.cli.output.records import printable
from lochan.errors import Invalid, Refused
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from datetime import datetime

    from lochan.api.options import CommitOptions, EngineOptions


def time(option: str, text: str | None) -> "datetime | None":
    """Parses a time. Raises Invalid, naming the option."""
    from lochan.api.options import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except Invalid:
        raise Invalid(
            f"{option} {text!r}: not a time", hint="write it as 2026-11-01, 2026-11-01T10:00Z, yesterday or 2 hours ago"
        ) from None


def size_bytes(option: str, text: str) -> int:
    """Parses a size. Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import SIZE, ValueContext

    try:
        size = SIZE.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: not a size", hint="such as 256MB or 1.5GiB") from None
    assert isinstance(size, int)
    return size


def notes(given: tuple[str, ...]) -> dict[str, str]:
    """Parses metadata. Raises Invalid for a text that is no KEY=VALUE, and for a key that comes twice."""
    found: dict[str, str] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise Invalid(f"--metadata {text!r}: metadata is given as KEY=VALUE", hint="such as --metadata owner=ada")
        if key in found:
            raise Invalid(f"--metadata {text!r}: {key!r} was already given", hint="keep one of the two")
        found[key] = value
    return found


def seconds(option: str, text: str) -> float:
    """Parses a length of time. Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import LENGTH, ValueContext

    try:
        found = LENGTH.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: not a length of time", hint="such as 30s, 5m or 500ms") from None
    assert isinstance(found, float)
    return found


# Options for work on rows: the engine, its place and its limits; and those of a query.


F = TypeVar("F", bound=Callable[..., Any])

_JOB_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "duckdb", "spark"]),
        default="auto",
        show_default=True,
        help="The engine that does the work.",
    ),
    click.option("--master", metavar="URL", help="The Spark master. Default: as configured, or else local[*]."),
    click.option("--memory", metavar="SIZE", help="The most memory to use. Default: 1GiB."),
)
_QUERY_OPTIONS = (
    *_JOB_OPTIONS,
    click.option("--timeout", metavar="TIME", help="The longest it may take, such as 30s or 5m. Default: no limit."),
    click.option("--go-on", is_flag=True, help="Skip data objects that are gone, with a warning. Default: fail."),
)


class JobOptions(NamedTuple):
    """The options as they were given on the command line."""

    engine: str = "auto"
    master: str | None = None
    memory: str | None = None
    timeout: str | None = None
    go_on: bool = False

    def parsed(self) -> "EngineOptions":
        """Returns the parsed options. Raises Invalid, naming the option."""
        from lochan.api.options import EngineOptions

        return EngineOptions(
            engine=self.engine,
            memory_bytes=None if self.memory is None else size_bytes("--memory", self.memory),
            timeout_s=None if self.timeout is None else seconds("--timeout", self.timeout),
            master=self.master,
            skip_missing=self.go_on,
        )


def job_options(command: F) -> F:
    """Gives the command the first fields of JobOptions."""
    return _with_options(command, _JOB_OPTIONS)


def engine_options(engine: str, master: str | None, memory: str | None) -> "EngineOptions":
    """Returns the options for work on metadata, which the embedded engine does without pandas. Raises Invalid, naming
    the option."""
    if engine == "duckdb":
        without_pandas()
    return JobOptions(engine, master, memory).parsed()


def query_options(command: F) -> F:
    """Gives the command all fields of JobOptions."""
    return _with_options(command, _QUERY_OPTIONS)


def _with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Adds the options in the order in which the command's help lists them."""
    for option in reversed(options):
        command = option(command)
    return command


# Options of a commit, for every verb that makes one by itself.


_COMMIT_OPTIONS = (
    click.option("-m", "--message", default="", help="The commit message."),
    click.option("--author", "--user", default="", metavar="NAME", help="The author. Default: you."),
    click.option("--meta", multiple=True, metavar="JSON|KEY=VALUE", help="Metadata of the commit; may be repeated."),
    click.option("--date", metavar="TIME", help="The date of the commit, in ISO 8601. Default: now."),
)


def commit_options(command: F) -> F:
    """Gives the command `message`, `author`, `meta` and `date`, for `commit_message`."""
    return _with_options(command, _COMMIT_OPTIONS)


def commit_message(message: str, author: str, meta: tuple[str, ...], date: str | None) -> "CommitOptions":
    """Returns the options of a commit. Raises Invalid, naming the option."""
    from lochan.api.options import CommitOptions

    return CommitOptions(message=message, metadata=_notes(meta), author=author, date=time("--date", date))


def _notes(given: tuple[str, ...]) -> dict[str, str]:
    """Parses metadata. Values of an object that are no texts are kept as JSON."""
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
        raise Invalid(f"--meta {text[:80]!r}: not JSON ({error})", hint="such as --meta '{\"run\": 17}'") from None
    assert isinstance(found, dict), "what begins with a brace is an object"
    return found


# Confirmation before something is removed for good.


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


def confirm(question: str, undone: str) -> None:
    """Asks for confirmation. Raises Refused unless the user confirms at a terminal; `undone` describes what did not
    happen then. Do not call it in an event loop, which would take the first Ctrl-C for itself."""
    if not is_terminal():
        raise Refused(f"{undone}: nobody confirmed it", hint="give --yes to go on without being asked")
    if not click.confirm(printable(question)):
        raise Refused(f"{undone}: the answer was no")


def is_terminal() -> bool:
    return sys.stdin.isatty()
