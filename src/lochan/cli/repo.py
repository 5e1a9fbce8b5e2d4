"""`lochan repo` and `lochan rename`: repositories of files and pools of rows."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, notes, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.request_key import is_repeated
from lochan.cli.target import repository_uri
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.lake import Lake
    from lochan.api.results import RepositoryInfo
    from lochan.cli.target import Target


@click.group("repo", cls=LazyGroup)
def group() -> None:
    """Create, list, show, protect and delete repositories."""


@group.verb("create", "lochan repo create demo", changes=True)
@click.argument("name")
@click.option("--kind", type=click.Choice(["files", "pool"]), default="files", show_default=True, help="What it holds.")
@click.option(
    "--default-branch", default="main", show_default=True, metavar="BRANCH", help="The name of its first branch."
)
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata; may be repeated.")
@click.option(
    "--storage",
    metavar="URL",
    help="A bucket, prefix or folder outside the lake for its files.  [default: the lake]",
)
@click.option("--bare", is_flag=True, help="Without a branch and a commit, for refs that are restored into it.")
@click.option(
    "--credentials", default="", metavar="PROFILE", help="A profile that opens the storage.  [default: as for the lake]"
)
def create_command(
    name: str,
    kind: str,
    default_branch: str,
    metadata: tuple[str, ...],
    storage: str | None,
    bare: bool,
    credentials: str,
    form: str,
) -> None:
    """Create the repository NAME.

    With --storage, its data, trees and journal lie in that place, which no other repository may have. The lake keeps
    the name of the profile, never its keys.
    """
    from lochan.cli.session import on_lake

    pairs = notes(metadata)
    if bare and kind == "pool":
        raise click.UsageError("a pool cannot be bare")

    async def work(lake: "Lake") -> "RepositoryInfo":
        create = lake.create_pool if kind == "pool" else lake.create_repository
        at = {"storage": storage, "credentials": credentials, **({"bare": True} if bare else {})}
        return await (await create(name, default_branch=default_branch, metadata=pairs, **at)).show()  # type: ignore[arg-type]

    made = on_lake(work)
    show_answer(made.as_json(), form, f"created repository {printable(made.name)}")


@group.verb("list", "lochan repo list", "lochan repo list --deleted")
@click.option("--deleted", is_flag=True, help="List those that were deleted, and how long each can be restored.")
def list_command(deleted: bool, form: str) -> None:
    """List the repositories of the lake, by name; deleted ones, the last one first."""
    if deleted:
        show_deleted(form)
    else:
        show_repositories(form)


def show_repositories(form: str) -> None:
    from lochan.cli.session import on_lake

    records = on_lake(lambda lake: all_records(lake.repositories()), reads=True)
    show_records(records, form, columns=("name", "kind", "default_branch", "created", "created_by"))


def show_deleted(form: str, kind: str = "") -> None:
    """Shows deleted repositories, all or those of one kind."""
    from lochan.cli.session import on_lake

    records = on_lake(lambda lake: all_records(lake.deleted_repositories()))
    records = [each for each in records if not kind or each["kind"] == kind]
    show_records(records, form, columns=("name", "kind", "deleted", "deleted_by", "until", "id"))


@group.verb("show", "lochan repo show demo")
@click.argument("name", metavar="REPO")
def show_command(name: str, form: str) -> None:
    """Show the repository REPO."""
    from lochan.cli.target import work_on

    async def work(target: "Target") -> dict[str, Any]:
        shown = (await target.repository.show()).as_json()
        return {**shown, "read_only": await target.repository.is_read_only()}

    show_record(work_on(repository_uri(name), work, reads=True), form)


@group.verb("read-only", "lochan repo read-only demo", changes=True)
@click.argument("name", metavar="REPO")
@click.option("--on/--off", "on", default=True, help="Make it read-only, or writable again. Default: --on.")
def read_only_command(name: str, on: bool, form: str) -> None:
    """Make the repository REPO read-only: every change of its branches, tags and objects is refused."""
    from lochan.cli.target import work_on

    uri = repository_uri(name)
    work_on(uri, lambda target: target.repository.set_read_only(on))
    show_answer(
        {"name": uri.repository, "read_only": on},
        form,
        f"{printable(uri.repository)} {'is read-only' if on else 'can be changed again'}",
    )


@group.verb("describe", "lochan repo describe demo --metadata team=search", changes=True)
@click.argument("name", metavar="REPO")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Metadata to set; may be repeated.")
@click.option("--remove", multiple=True, metavar="KEY", help="Metadata to remove; may be repeated.")
def describe_command(name: str, metadata: tuple[str, ...], remove: tuple[str, ...], form: str) -> None:
    """Set or remove metadata of the repository REPO, and show it."""
    from lochan.cli.target import work_on

    values = notes(metadata)
    show_record(work_on(repository_uri(name), lambda target: target.repository.set_metadata(values, remove)), form)


@group.verb("delete", "lochan repo delete demo", changes=True)
@click.argument("name", metavar="REPO")
@click.option("--force", is_flag=True, help="Delete it even if it is read-only.")
@yes_option
def delete_command(name: str, force: bool, yes: bool, form: str) -> None:
    """Delete the repository REPO: its branches, tags and history.

    `lochan repo restore` brings it back, within 30 days unless `lochan gc rules set --undo-days` says otherwise. On a
    terminal it asks first; a script must give --yes.
    """
    from lochan.cli.session import on_lake

    async def look(lake: "Lake") -> None:
        await lake.repository(name).show()

    async def delete(lake: "Lake") -> None:
        await lake.repository(name).delete(force=force)

    if not yes and not is_repeated(click.get_current_context()):
        on_lake(look, reads=True)  # so that users are not asked to confirm a name that does not exist
    if not yes:
        confirm(f"Delete repository {name} with all its history?", f"repository {name} was not deleted")
    on_lake(delete)
    show_answer({"deleted": name}, form, f"deleted repository {printable(name)}")


@group.verb("restore", "lochan repo restore demo", "lochan repo restore demo --as demo-2", changes=True)
@click.argument("name", metavar="REPO")
@click.option("--as", "to", default="", metavar="NAME", help="Restore it under this name. Default: the one it had.")
def restore_command(name: str, to: str, form: str) -> None:
    """Bring back the repository REPO that was deleted last: its branches, tags and history, and what was staged.

    REPO may be the id of a deleted one, which `lochan repo list --deleted` shows.
    """
    restore(name, to, form, "repository")


def restore(name: str, to: str, form: str, noun: str) -> None:
    from lochan.cli.session import on_lake

    async def work(lake: "Lake") -> "RepositoryInfo":
        return await (await lake.restore_repository(name, to)).show()

    made = on_lake(work)
    show_answer(made.as_json(), form, f"restored {noun} {printable(made.name)}")


@verb("rename", "lochan rename logs web-logs", changes=True)
@click.argument("name", metavar="REPO")
@click.argument("to")
def rename_command(name: str, to: str, form: str) -> None:
    """Rename the pool or repository REPO to TO. Its contents and its history stay the same."""
    from lochan.cli.session import on_lake

    on_lake(lambda lake: lake.repository(name).rename(to))
    show_answer({"name": to, "before": name}, form, f"renamed {printable(name)} to {printable(to)}")
