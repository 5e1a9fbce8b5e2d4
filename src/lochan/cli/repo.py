"""`lochan repo` and `lochan rename`: repositories of files and pools of rows."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.hints import about_repository
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.open_ref import OpenRef, work_on
from lochan.cli.options.request_key import is_repeated, request_key
from lochan.cli.options.values import notes
from lochan.cli.output.records import format_option, instant, printable, show_record, show_records
from lochan.cli.prompt import confirm
from lochan.cli.uri import repository_uri

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings
    from lochan.versioning.repositories import Repository


@click.group("repo", cls=LazyGroup)
def group() -> None:
    """Create, list, show, protect and delete repositories."""


@group.command("create")
@click.argument("name")
@click.option("--kind", type=click.Choice(["files", "pool"]), default="files", show_default=True, help="What it holds.")
@click.option("--default-branch", default="main", show_default=True, metavar="BRANCH", help="Its first branch.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A note kept with it; may be repeated.")
@request_key
@format_option
def create_command(name: str, kind: str, default_branch: str, metadata: tuple[str, ...], form: str) -> None:
    """Create the repository NAME.

    \b
    Example:
      lochan repo create demo
    """
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()
    said = notes(metadata)

    async def work() -> "Repository":
        async with open_lake(config) as lake:
            return await lake.create_repository(
                name, kind=kind, default_branch=default_branch, metadata=said, actor=actor(config)
            )

    repository = run(config, work())
    if form == "json":
        show_record(repository_record(repository), form)
    else:
        click.echo(f"created repository {printable(repository.name)}")


@group.command("list")
@format_option
def list_command(form: str) -> None:
    """List the repositories of the lake, by name.

    \b
    Example:
      lochan repo list
    """
    show_repositories(form)


def show_repositories(form: str) -> None:
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def work() -> "list[Repository]":
        async with open_lake(config) as lake:
            return await lake.repositories()

    records = [repository_record(each) for each in read(config, work)]
    show_records(records, form, columns=("name", "kind", "default_branch", "created", "created_by"))


@group.command("show")
@click.argument("name", metavar="REPO")
@format_option
def show_command(name: str, form: str) -> None:
    """Show the repository REPO.

    \b
    Example:
      lochan repo show demo
    """
    from lochan.cli.session import configuration, open_lake, read

    config = configuration()

    async def work() -> tuple["Repository", bool]:
        async with open_lake(config) as lake:
            opened = await lake.open_repository(name)
            about_repository(name)
            try:
                refs, _ = await opened.refs()
                return opened.repository, refs.guard.read_only
            finally:
                await opened.close()

    found, read_only = read(config, work)
    show_record({**repository_record(found), "read_only": read_only}, form)


@group.command("read-only")
@click.argument("name", metavar="REPO")
@click.option("--on/--off", "on", default=True, help="Only to be read (the default), or to be changed again.")
@request_key
@format_option
def read_only_command(name: str, on: bool, form: str) -> None:
    """Make the repository REPO read-only: every change of its branches, tags and objects is refused.

    \b
    Example:
      lochan repo read-only demo
    """
    uri = repository_uri(name)

    async def work(opened: OpenRef) -> None:
        from lochan.versioning.guarding import set_read_only

        await set_read_only(opened.repository, on, actor=opened.actor)

    work_on(uri, work)
    if form == "json":
        show_record({"name": uri.repository, "read_only": on}, form)
    else:
        click.echo(f"{printable(uri.repository)} {'is read-only' if on else 'can be changed again'}")


@group.command("delete")
@click.argument("name", metavar="REPO")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@request_key
@format_option
def delete_command(name: str, yes: bool, form: str) -> None:
    """Delete the repository REPO: its branches, tags and history.

    On a terminal it asks first; in a script it wants --yes.

    \b
    Example:
      lochan repo delete demo
    """
    from lochan.cli.session import actor, configuration, open_lake, read, run

    config = configuration()

    async def look() -> None:
        async with open_lake(config) as lake:
            await lake.repository(name)

    async def delete() -> None:
        async with open_lake(config) as lake:
            await lake.delete_repository(name, actor=actor(config))

    if not yes and not is_repeated(click.get_current_context()):
        read(config, look)  # so that nobody is asked about a name that is not there
    if not yes:
        confirm(f"Delete repository {name} with all its history?", f"repository {name} was not deleted")
    run(config, delete())
    if form == "json":
        show_record({"deleted": name}, form)
    else:
        click.echo(f"deleted repository {printable(name)}")


@click.command("rename")
@click.argument("name", metavar="REPO")
@click.argument("to")
@request_key
@format_option
def rename_command(name: str, to: str, form: str) -> None:
    """Rename the pool or repository REPO to TO. All that it holds stays as it is, its history too.

    \b
    Example:
      lochan rename logs web-logs
    """
    from lochan.cli.session import actor, configuration, open_lake, run

    config = configuration()

    async def work() -> None:
        async with open_lake(config) as lake:
            await lake.rename_repository(name, to, actor=actor(config))

    run(config, work())
    if form == "json":
        show_record({"name": to, "before": name}, form)
    else:
        click.echo(f"renamed {printable(name)} to {printable(to)}")


def repository_record(repository: "Repository") -> dict[str, Any]:
    record = {
        "name": repository.name,
        "id": repository.id,
        "kind": repository.kind,
        "default_branch": repository.default_branch,
        "created": instant(repository.created),
        "created_by": repository.created_by,
        "metadata": dict(repository.metadata),
    }
    return record if repository.pool is None else {**record, "pool": settings_record(repository.pool)}


def settings_record(settings: "PoolSettings") -> dict[str, Any]:
    from lochan.formats.pool_settings import path_text

    return {
        "keys": [str(key) for key in settings.keys],
        "nulls": "first" if settings.nulls_first else "last",
        "size": settings.size_bytes,
        "times": [path_text(path) for path in settings.times],
        "primary_key": [path_text(path) for path in settings.primary_key],
    }
