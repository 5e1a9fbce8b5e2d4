"""Options for work on rows: which engine does it, where, how much it may use; and those of a query."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from lochan.api.options import EngineOptions

F = TypeVar("F", bound=Callable[..., Any])

_JOB_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "duckdb", "spark"]),
        default="auto",
        show_default=True,
        help="The engine that does the work.",
    ),
    click.option("--master", metavar="URL", help="Where Spark runs. Default: as configured, else local[*]."),
    click.option("--memory", metavar="SIZE", help="How much memory it may use. Default: 1GiB."),
)
_QUERY_OPTIONS = (
    *_JOB_OPTIONS,
    click.option("--timeout", metavar="TIME", help="How long it may take, such as 30s or 5m."),
    click.option("--go-on", is_flag=True, help="Leave out data objects that are gone, and say so."),
)


class JobOptions(NamedTuple):
    """What was given on the command line."""

    engine: str = "auto"
    master: str | None = None
    memory: str | None = None
    timeout: str | None = None
    go_on: bool = False

    def parsed(self) -> "EngineOptions":
        """Raises Invalid, naming the option."""
        from lochan.api.options import EngineOptions
        from lochan.cli.options.values import seconds, size_bytes

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


def query_options(command: F) -> F:
    """Gives the command all fields of JobOptions."""
    return _with_options(command, _QUERY_OPTIONS)


def _with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """In the order in which its help is to list them."""
    for option in reversed(options):
        command = option(command)
    return command
