"""Options for work on rows: which engine does it, where, how much it may use; and those of a query."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from lochan.config.values import Config
    from lochan.engines.asking import How
    from lochan.engines.duckdb.limits import Limits
    from lochan.engines.spark.place import SparkPlace
    from lochan.engines.spark.watching import Listener
    from lochan.lake import Lake


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
        from lochan.cli.options.values import size_bytes
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


_QUERY_OPTIONS = (
    *ENGINE_OPTIONS,
    click.option("--timeout", metavar="TIME", help="How long it may take, such as 30s or 5m."),
    click.option("--go-on", is_flag=True, help="Leave out data objects that are gone, and say so."),
)


class QueryOptions(NamedTuple):
    engine: str = "auto"
    master: str | None = None
    memory: str | None = None
    timeout: str | None = None
    go_on: bool = False

    def how(self, config: "Config", lake: "Lake", watch: "Listener | None" = None) -> "How":
        """`watch` is told how far Spark is. Raises Invalid, naming the option."""
        from lochan.cli.options.values import seconds, size_bytes
        from lochan.cli.pool_in_use import find_in_use
        from lochan.cli.session import actor
        from lochan.cli.spark_place import spark_place
        from lochan.engines.asking import How
        from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits

        memory = MEMORY_BYTES if self.memory is None else size_bytes("--memory", self.memory)
        limits = Limits(memory, None if self.timeout is None else seconds("--timeout", self.timeout))
        in_use, spark = str(find_in_use(config, lake.id) or ""), spark_place(config, self.master)
        return How(in_use, self.engine, limits, self.go_on, actor(config), spark, watch)


def query_options(command: F) -> F:
    """Gives the command the fields of QueryOptions."""
    return with_options(command, _QUERY_OPTIONS)
