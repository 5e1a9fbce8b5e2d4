"""What work on much data may be told on the command line: which engine does it, where, and how much it may use."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from lochan.config.values import Config
    from lochan.engines.duckdb.limits import Limits
    from lochan.engines.spark.place import SparkPlace

F = TypeVar("F", bound=Callable[..., Any])

ENGINE_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "duckdb", "spark"]),
        default="auto",
        show_default=True,
        help="What does it.",
    ),
    click.option("--master", metavar="URL", help="Where Spark does it; local[*] unless told or configured."),
    click.option("--memory", metavar="SIZE", help="How much memory it may use, 1GiB unless told."),
)


class JobOptions(NamedTuple):
    engine: str = "auto"
    master: str | None = None
    memory: str | None = None

    def limits(self) -> "Limits":
        """Raises Invalid, naming the option."""
        from lochan.cli.sizes import size_bytes
        from lochan.engines.duckdb.limits import STANDARD, Limits

        return STANDARD if self.memory is None else Limits(size_bytes("--memory", self.memory))

    def spark(self, config: "Config") -> "SparkPlace":
        from lochan.cli.spark_place import spark_place

        return spark_place(config, self.master)


def job_options(command: F) -> F:
    """Gives the command the fields of JobOptions."""
    return with_options(command, ENGINE_OPTIONS)


def with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """In the order in which its help is to list them."""
    for option in reversed(options):
        command = option(command)
    return command
