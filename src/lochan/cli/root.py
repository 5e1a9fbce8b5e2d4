"""The `lochan` command: its verbs, its global options, and the one place where an error becomes an exit code.

Nothing heavy is imported here: `lochan --version` pays for click alone, and each verb for what it uses.
"""

import os
from typing import Any

import click
from click.exceptions import Exit

from lochan import __version__
from lochan.cli import exit_codes
from lochan.cli.boundary import boundary, forget_stdout
from lochan.cli.lazy import LazyGroup
from lochan.cli.without_pandas import without_pandas

VERBS = {
    "auth": "lochan.cli.auth",
    "bisect": "lochan.cli.bisect",
    "blame": "lochan.cli.blame",
    "branch": "lochan.cli.branch",
    "cherry-pick": "lochan.cli.cherry_pick",
    "commit": "lochan.cli.commit",
    "compact": "lochan.cli.compact",
    "completion": "lochan.cli.completion",
    "config": "lochan.cli.config",
    "create": "lochan.cli.create",
    "delete": "lochan.cli.delete",
    "diff": "lochan.cli.diff",
    "doctor": "lochan.cli.doctor",
    "drop": "lochan.cli.drop",
    "events": "lochan.cli.events",
    "explain": "lochan.cli.explain",
    "fs": "lochan.cli.fs",
    "import": "lochan.cli.import_",
    "ingest": "lochan.cli.ingest",
    "init": "lochan.cli.init",
    "jobs": "lochan.cli.jobs",
    "load": "lochan.cli.load",
    "log": "lochan.cli.log",
    "ls": "lochan.cli.ls",
    "manage": "lochan.cli.manage",
    "merge": "lochan.cli.merge",
    "merge-base": "lochan.cli.merge_base",
    "query": "lochan.cli.query",
    "rebase": "lochan.cli.rebase",
    "rename": "lochan.cli.rename",
    "repo": "lochan.cli.repo",
    "reset": "lochan.cli.reset",
    "revert": "lochan.cli.revert",
    "serve": "lochan.cli.serve",
    "shell": "lochan.cli.shell",
    "show": "lochan.cli.show",
    "sql": "lochan.cli.sql",
    "stash": "lochan.cli.stash",
    "status": "lochan.cli.status",
    "tag": "lochan.cli.tag",
    "use": "lochan.cli.use",
    "workspace": "lochan.cli.workspace",
}


# These say themselves whether a run needs pandas, which Spark takes in.
MAY_RUN_SPARK = frozenset(
    ("compact", "diff", "doctor", "explain", "ingest", "load", "manage", "query", "serve", "shell", "sql")
)


class _Root(LazyGroup):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name not in MAY_RUN_SPARK:
            without_pandas()
        return name, command, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if "_LOCHAN_COMPLETE" in os.environ:
            from lochan.cli.shell_scripts import register

            register()
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Where `--help` and `--version` are answered."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            forget_stdout()
            raise Exit(exit_codes.BROKEN_PIPE) from None

    def invoke(self, ctx: click.Context) -> object:
        with boundary(ctx):
            return super().invoke(ctx)


@click.group(cls=_Root, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lochan", message="%(prog)s %(version)s")
def cli() -> None:
    """Git for data on an object store.

    Options that are listed here may stand before or after the verb.
    """
