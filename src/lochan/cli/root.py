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
    "The lake": {
        "init": "lochan.cli.init",
        "ls": "lochan.cli.ls",
        "use": "lochan.cli.use",
        "config": "lochan.cli.config",
        "doctor": "lochan.cli.doctor",
        "events": "lochan.cli.events",
        "jobs": "lochan.cli.jobs",
    },
    "Repositories and branches": {
        "repo": "lochan.cli.repo",
        "branch": "lochan.cli.branch",
        "tag": "lochan.cli.tag",
        "rename": "lochan.cli.rename",
        "workspace": "lochan.cli.workspace",
    },
    "Files": {
        "fs": "lochan.cli.fs",
        "import": "lochan.cli.import_",
    },
    "Changes": {
        "status": "lochan.cli.status",
        "commit": "lochan.cli.commit",
        "reset": "lochan.cli.reset",
        "stash": "lochan.cli.stash",
    },
    "History": {
        "log": "lochan.cli.log",
        "show": "lochan.cli.show",
        "diff": "lochan.cli.diff",
        "blame": "lochan.cli.blame",
        "bisect": "lochan.cli.bisect",
        "merge-base": "lochan.cli.merge_base",
    },
    "Bringing changes together": {
        "merge": "lochan.cli.merge",
        "rebase": "lochan.cli.rebase",
        "cherry-pick": "lochan.cli.cherry_pick",
        "revert": "lochan.cli.revert",
    },
    "Pools": {
        "create": "lochan.cli.create",
        "load": "lochan.cli.load",
        "ingest": "lochan.cli.ingest",
        "delete": "lochan.cli.delete",
        "compact": "lochan.cli.compact",
        "manage": "lochan.cli.manage",
        "drop": "lochan.cli.drop",
    },
    "Queries": {
        "query": "lochan.cli.query",
        "sql": "lochan.cli.sql",
        "explain": "lochan.cli.explain",
        "shell": "lochan.cli.shell",
    },
    "Access and server": {
        "auth": "lochan.cli.auth",
        "serve": "lochan.cli.serve",
        "completion": "lochan.cli.completion",
    },
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`lochan help log` is what `lochan log --help` is."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

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
