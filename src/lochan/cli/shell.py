"""`lochan shell`: runs one query after the other, on one open lake."""

import re
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.options import JobOptions, query_options
from lochan.cli.query import FORMATS
from lochan.cli.verb import verb
from lochan.errors import LochanError
from lochan.without_pandas import without_pandas

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.options import EngineOptions


_SHOWN = tuple(form for form in FORMATS if form not in ("parquet", "arrow"))
_HELP = """\
A query goes on in the next line while a bracket or a quote is open, and behind a | at the end of a line.

\\q          leave
\\h          show this
\\stats      say what each query read, or stop saying it
\\f FORMAT   print rows as table, json, ndjson, csv or text"""


@verb("shell", "lochan shell", form=False)
@click.option("-f", "--format", "form", type=click.Choice(_SHOWN), help="A table on a terminal, else NDJSON.")
@query_options
def shell_command(form: str | None, **options: object) -> None:
    """Run queries as they are typed. In a pipe, it reads them from standard input, one per line.

    \\q leaves, and \\h shows the other commands. The tab key completes pools, fields and operators.
    """
    from lochan.cli.session import configuration, lasting_lake
    from lochan.cli.shell_lines import questions
    from lochan.cli.user_state import find_in_use
    from lochan.runtime import Runtime

    without_pandas()
    config = configuration()
    engine = JobOptions(**options).parsed()  # type: ignore[arg-type]
    runtime = Runtime()  # on a thread of its own, because rows of a server arrive while they are printed
    try:
        lake = runtime.wait(lasting_lake(config))
        try:
            pool = str(find_in_use(config, lake.id) or "")
            shell = Shell(lake, engine, pool, runtime.wait, form)
            for text in questions(shell.complete) if sys.stdin.isatty() else questions(None):
                if not shell.answer(text):
                    break
        finally:
            runtime.wait(lake.close())
    finally:
        runtime.stop()
    if shell.code and not sys.stdin.isatty():
        click.get_current_context().exit(shell.code)


class Shell:
    def __init__(
        self,
        lake: "Lake",
        engine: "EngineOptions",
        pool: str,
        run: Callable[[Coroutine[Any, Any, Any]], Any],
        form: str | None,
    ) -> None:
        self._lake = lake
        self._engine = engine
        self._pool = pool  # read by queries that name no pool
        self._run = run
        self._form = form
        self._stats = False
        self._fields: dict[str, list[str]] = {}
        self.code = 0  # the exit code of the last mistake

    def answer(self, text: str) -> bool:
        """Answers a query or a command. Returns False if the shell ends."""
        from lochan.cli.error_boundary import code_of, print_error, print_message

        if text.startswith("\\"):
            return self._command(text)
        try:
            self._query(text)
        except LochanError as error:
            print_error(error, click.get_current_context())
            self.code = code_of(error)
        except KeyboardInterrupt:
            print_message("interrupted")
        return True

    def complete(self, line: str, word: str) -> list[str]:
        """Returns completions of the word at the end of the line."""

        try:
            return candidates(line, word, self._pools, self._fields_of)
        except LochanError:  # no message may disturb the user's typing
            return []

    def _query(self, text: str) -> None:
        from lochan.cli.error_boundary import print_message
        from lochan.cli.output.query_rows import show_stats, write_result

        with self._run(self._lake.query(text, self._engine, pool=self._pool)) as result:
            for warning in result.warnings:
                print_message(warning)
            write_result(result, self._form, None)
            sys.stdout.flush()
            if self._stats:
                show_stats(result.stats)

    def _command(self, text: str) -> bool:
        from lochan.cli.error_boundary import print_message

        word, _, rest = text[1:].partition(" ")
        if word == "h":
            click.echo(_HELP)
        elif word == "stats":
            self._stats = not self._stats
        elif word == "f" and rest in _SHOWN:
            self._form = rest
        elif word != "q":
            print_message(f"there is no {text}", "\\h shows what there is")
        return word != "q"

    def _pools(self) -> list[str]:
        async def names() -> list[str]:
            return [each.name async for each in self._lake.repositories()]

        found: list[str] = self._run(names())
        return found

    def _fields_of(self, pool: str) -> list[str]:
        """Returns the fields of a pool, as they were at the first call."""
        if pool not in self._fields:
            self._fields[pool] = self._run(self._lake.pool(pool).fields())
        return self._fields[pool]


_SOURCE = re.compile(r"\bfrom\s+([\w.-]+)")


def candidates(line: str, word: str, pools: Callable[[], list[str]], fields: Callable[[str], list[str]]) -> list[str]:
    """Returns suggestions for a word. `line` is the text before it."""
    before = line.rstrip()
    if before.endswith(("from", "from,")) or re.search(r"\bfrom\s[^|]*,$", before):
        return _names_beginning_with(word, pools())
    from lochan.api.queries import functions, operators

    source = _SOURCE.search(line)
    names = fields(source[1]) if source and source[1] in pools() else []
    calls = [f"{name}(" for name in functions()]
    first = [*operators(), *calls] if not before or before.endswith(("|", "=>", "(")) else calls
    return _names_beginning_with(word, [*names, *first])


def _names_beginning_with(word: str, names: list[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(word)})
