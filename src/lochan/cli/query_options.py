"""What a query may be told on the command line, for every verb that takes one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from lochan.cli.job_options import ENGINE_OPTIONS, with_options
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.config.values import Config
    from lochan.engines.run_query import RunOptions
    from lochan.engines.spark.progress import Listener
    from lochan.lake import Lake

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
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

    def how(self, config: "Config", lake: "Lake", watch: "Listener | None" = None) -> "RunOptions":
        """`watch` is told how far Spark is. Raises Invalid, naming the option."""
        from lochan.cli.current import find_in_use
        from lochan.cli.session import actor
        from lochan.cli.sizes import size_bytes
        from lochan.cli.spark_place import spark_place
        from lochan.engines.duckdb.limits import MEMORY_BYTES, Limits
        from lochan.engines.run_query import RunOptions

        memory = MEMORY_BYTES if self.memory is None else size_bytes("--memory", self.memory)
        limits = Limits(memory, None if self.timeout is None else seconds("--timeout", self.timeout))
        in_use, spark = str(find_in_use(config, lake.id) or ""), spark_place(config, self.master)
        return RunOptions(in_use, self.engine, limits, self.go_on, actor(config), spark, watch)


def query_options(command: F) -> F:
    """Gives the command the fields of QueryOptions."""
    return with_options(command, _OPTIONS)


def seconds(option: str, text: str) -> float:
    """Raises Invalid, naming the option."""
    from pathlib import Path

    from lochan.config.kinds import LENGTH, ValueContext

    try:
        found = LENGTH.parse(text, ValueContext(Path("/"), Path("/")))
    except ValueError:
        raise Invalid(f"{option} {text!r}: this is no length of time", hint="such as 30s, 5m or 500ms") from None
    assert isinstance(found, float)
    return found
