"""The `lochan` command: its verbs, its global options, and the one place where an error becomes an exit code.

Nothing heavy is imported here: `lochan --version` imports click alone, and each verb imports what it uses."""

import os
from typing import Any

import click
from click.exceptions import Exit

from lochan import __version__
from lochan.cli import exit_codes
from lochan.cli.error_boundary import code_of, error_boundary, forget_stdout, print_message
from lochan.cli.lazy_group import LazyGroup
from lochan.errors import from_os_error
from lochan.without_pandas import without_pandas

VERBS = {
    "The lake": {
        "init": "lochan.cli.lake:init_command",
        "ls": "lochan.cli.lake:ls_command",
        "use": "lochan.cli.lake:use_command",
        "config": "lochan.cli.lake:config_group",
        "doctor": "lochan.cli.lake:doctor_command",
        "events": "lochan.cli.events:events_command",
        "jobs": "lochan.cli.jobs:group",
        "gc": "lochan.cli.gc:group",
        "upkeep": "lochan.cli.upkeep:group",
        "dedupe": "lochan.cli.storage:dedupe_command",
        "fsck": "lochan.cli.recovery:fsck_command",
        "rebuild": "lochan.cli.recovery:rebuild_command",
        "scrub": "lochan.cli.recovery:scrub_command",
        "backup": "lochan.cli.backup:backup_command",
        "restore": "lochan.cli.backup:restore_command",
        "usage": "lochan.cli.usage:group",
        "lifecycle": "lochan.cli.bucket_rules:lifecycle_group",
        "policy": "lochan.cli.bucket_rules:policy_group",
    },
    "Repositories and branches": {
        "repo": "lochan.cli.repo:group",
        "branch": "lochan.cli.refs:branches",
        "tag": "lochan.cli.refs:tags",
        "rename": "lochan.cli.repo:rename_command",
        "workspace": "lochan.cli.workspace:group",
        "pr": "lochan.cli.pull:group",
    },
    "Files": {
        "fs": "lochan.cli.fs:group",
        "import": "lochan.cli.ingest.files:import_command",
        "export": "lochan.cli.export:export_command",
        "checkout": "lochan.cli.checkout:checkout_command",
        "pull": "lochan.cli.checkout:pull_command",
    },
    "Changes": {
        "status": "lochan.cli.changes:status_command",
        "commit": "lochan.cli.changes:commit_command",
        "reset": "lochan.cli.changes:reset_command",
        "stash": "lochan.cli.stash:group",
        "hooks": "lochan.cli.hooks:group",
    },
    "History": {
        "log": "lochan.cli.history.log:log_command",
        "show": "lochan.cli.history.show:show_command",
        "diff": "lochan.cli.history.diff:diff_command",
        "blame": "lochan.cli.history.show:blame_command",
        "bisect": "lochan.cli.history.bisect:group",
        "merge-base": "lochan.cli.history.show:merge_base_command",
    },
    "Bringing changes together": {
        "merge": "lochan.cli.merge:merge_command",
        "rebase": "lochan.cli.merge:rebase_command",
        "cherry-pick": "lochan.cli.merge:cherry_pick_command",
        "revert": "lochan.cli.merge:revert_command",
    },
    "Pools": {
        "create": "lochan.cli.pool.lifecycle:create_command",
        "load": "lochan.cli.pool.load:load_command",
        "ingest": "lochan.cli.ingest:group",
        "delete": "lochan.cli.pool.lifecycle:delete_command",
        "compact": "lochan.cli.pool.compact:compact_command",
        "manage": "lochan.cli.pool.manage:manage_command",
        "drop": "lochan.cli.pool.lifecycle:drop_command",
        "pool": "lochan.cli.pool.group:group",
    },
    "Queries": {
        "query": "lochan.cli.query:query_command",
        "sql": "lochan.cli.query:sql_command",
        "explain": "lochan.cli.query:explain_command",
        "shell": "lochan.cli.shell:shell_command",
    },
    "Access and server": {
        "login": "lochan.cli.login:login_command",
        "logout": "lochan.cli.login:logout_command",
        "auth": "lochan.cli.auth:group",
        "audit": "lochan.cli.audit:audit_command",
        "serve": "lochan.cli.serve:serve_command",
        "subscription": "lochan.cli.subscription:group",
        "mcp": "lochan.cli.mcp:mcp_command",
        "top": "lochan.cli.top:top_command",
        "companion": "lochan.cli.companion.commands:group",
        "completion": "lochan.cli.completion:completion_command",
    },
}

# These verbs decide themselves whether a run needs pandas, which Spark imports.
MAY_RUN_SPARK = frozenset(
    (
        "compact",
        "diff",
        "doctor",
        "explain",
        "export",
        "import",
        "ingest",
        "load",
        "manage",
        "query",
        "rebuild",
        "serve",
        "shell",
        "sql",
    )
)


class _Root(LazyGroup):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["help"]:  # `lochan help log` is the same as `lochan log --help`
            args = [*args[1:], "--help"]
        if args == ["--help"]:
            click.echo(ctx.get_help())
            ctx.exit()
        name, command, rest = super().resolve_command(ctx, args)
        if name not in MAY_RUN_SPARK:
            without_pandas()
        return name, command, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        if "_LOCHAN_COMPLETE" in os.environ:
            from lochan.cli.completion import register

            register()
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Answers `--help` and `--version`."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            forget_stdout()
            raise Exit(exit_codes.BROKEN_PIPE) from None
        except OSError as error:
            forget_stdout()
            ours = from_os_error(error)
            print_message(ours.message, ours.hint)
            raise Exit(code_of(ours)) from None

    def invoke(self, ctx: click.Context) -> object:
        with error_boundary(ctx):
            return super().invoke(ctx)


@click.group(cls=_Root, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lochan", message="%(prog)s %(version)s")
def cli() -> None:
    """Git for data on an object store.

    These options may be given before or after the verb.
    """
