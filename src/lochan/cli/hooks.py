"""`lochan hooks`: the hooks of a repository, which are called before it changes, and their results."""

from typing import Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import SHORT, all_records, cell, printable, show_answer, show_record, show_records
from lochan.cli.target import branch_uri, repository_uri, work_on
from lochan.errors import HookRefused, Invalid, from_os_error

_LIMIT = 20


@click.group("hooks", cls=LazyGroup)
def group() -> None:
    """Check and run the hooks of a repository: the files under _lochan/hooks/ that judge its changes."""


@group.verb("list", "lochan hooks list demo@main")
@click.argument("branch", metavar="REPO[@BRANCH]")
def list_command(branch: str, form: str) -> None:
    """List the hooks that judge the next change of a branch."""
    uri = branch_uri(branch)
    records = work_on(uri, lambda target: all_records(target.repository.hooks(uri.ref)), reads=True)
    _show_hooks(records, form)


@group.verb("check", "lochan hooks check demo quality.yaml")
@click.argument("repository", metavar="REPO")
@click.argument("file", metavar="FILE")
def check_command(repository: str, file: str, form: str) -> None:
    """Check a hook file before it is committed.

    The file is one of this machine. Its hooks are listed. A mistake is shown with its line and column (exit code 6).
    """
    try:
        with click.open_file(file, "rb") as stream:
            text = stream.read((1 << 16) + 1).decode()
    except UnicodeDecodeError:
        raise Invalid(f"{file}: not UTF-8 text") from None
    except OSError as error:
        raise from_os_error(error) from None
    found = work_on(repository_uri(repository), lambda target: target.repository.check_hooks(text, file), reads=True)
    _show_hooks([each.as_json() for each in found], form)


def _show_hooks(records: list[dict[str, Any]], form: str) -> None:
    if form != "json":
        records = [{**each, "events": " ".join(each["events"])} for each in records]
    show_records(records, form, columns=("file", "id", "kind", "events", "about"))


@group.verb("run", "lochan hooks run demo@main pre-commit", changes=True)
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.argument("event", metavar="EVENT", default="pre-commit")
@click.option("--dry-run", is_flag=True, help="Skip webhooks and modules, and keep no record.")
def run_command(branch: str, event: str, dry_run: bool, form: str) -> None:
    """Run the hooks for EVENT (default: pre-commit) by hand, and show what they say.

    They judge what is staged on the branch, or its head where nothing is. Nothing is changed. If one refuses, the exit
    code is 5.
    """
    uri = branch_uri(branch)
    run = work_on(uri, lambda target: target.repository.run_hooks(event, uri.ref, dry_run=dry_run))
    _show_run(run.as_json(), form)
    if run.state != "passed":
        raise HookRefused(f"hooks refuse the {event.partition('-')[2]}")


@group.verb("runs", "lochan hooks runs demo -n 5")
@click.argument("branch", metavar="REPO[@BRANCH]")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=_LIMIT, show_default=True, metavar="N", help="How many runs."
)
def runs_command(branch: str, limit: int, form: str) -> None:
    """List the newest N runs of hooks, the newest first."""
    uri = branch_uri(branch)

    async def work(target: Any) -> list[dict[str, Any]]:
        found = []
        async for each in target.repository.hook_runs(uri.ref):
            found.append(each.as_json())
            if len(found) == limit:
                break
        return found

    records = work_on(uri, work, reads=True)
    if form != "json":
        records = [{**each, "commit": each["commit"][:SHORT]} for each in records]
    show_records(records, form, columns=("id", "event", "state", "branch", "commit", "user", "started"))


@group.verb("show", "lochan hooks show demo 2abc")
@click.argument("repository", metavar="REPO")
@click.argument("run", metavar="RUN")
def show_command(repository: str, run: str, form: str) -> None:
    """Show a run: what each hook said, why, and what it printed."""
    found = work_on(repository_uri(repository), lambda target: target.repository.hook_run(run), reads=True)
    _show_run(found.as_json(), form)


def _show_run(record: dict[str, Any], form: str) -> None:
    if form == "json":
        show_record(record, form)
        return
    head = ("id", "event", "state", "branch", "commit", "user", "started")
    show_record({name: record[name][:SHORT] if name == "commit" else record[name] for name in head}, form)
    for each in record["results"]:
        reason = f": {cell(each['reason'])}" if each["reason"] else ""
        click.echo(f"{each['hook']} ({each['kind']}, {printable(each['file'])}) {each['state']}{reason}")
        for line in each["output"].splitlines():
            click.echo(f"  {printable(line)}")


@group.verb("secret", "lochan hooks secret demo https://example.org/hook")
@click.argument("repository", metavar="REPO")
@click.argument("url", metavar="URL")
def secret_command(repository: str, url: str, form: str) -> None:
    """Print the secret that signs requests to a host.

    With it, the receiver at URL can check that a request comes from this repository.
    """
    secret = work_on(repository_uri(repository), lambda target: target.repository.hook_secret(url), reads=True)
    show_answer({"secret": secret}, form, secret)
