"""`lochan gc … --deleted`: the files of repositories and pools that were deleted."""

from typing import TYPE_CHECKING, Any

import click

from lochan.cli.output.records import count_noun, printable, show_record, show_records, size_cell
from lochan.cli.session import on_lake

if TYPE_CHECKING:
    from lochan.api.deleted import DeletedPlan, ErasedResult


def plan(name: str | None, dry_run: bool, form: str) -> None:
    names = [] if name is None else [name]
    if dry_run:
        _show_plans(on_lake(lambda lake: lake.deleted.status(names)), form)
        return
    made = on_lake(lambda lake: lake.deleted.plan(names))
    if form == "json":
        show_records([each.as_json() for each in made], form, columns=())
        return
    if not made:
        click.echo("nothing has been deleted for long enough")
    _echo_planned(made)


def sweep(name: str | None, grace_hours: float, confirmed: bool, form: str) -> None:
    names = [] if name is None else [name]
    made = on_lake(lambda lake: lake.deleted.sweep(names, grace_hours, confirmed=confirmed))
    if form == "json":
        show_records([each.as_json() for each in made], form, columns=())
    else:
        _echo_erased(made)


def report(name: str | None, form: str) -> None:
    _show_plans(on_lake(lambda lake: lake.deleted.status([] if name is None else [name])), form)


def run(grace_hours: float, confirmed: bool, form: str) -> None:
    made = on_lake(lambda lake: lake.deleted.run(grace_hours, confirmed=confirmed))
    if form == "json":
        show_record(made.as_json(), form)
        return
    if made.found:
        click.echo(f"found {_repositories(len(made.found))} that the lake did not know")
    _echo_erased(made.erased)
    _echo_planned(made.planned)
    if made.records or made.temporary:
        left = f"{count_noun(made.records, 'old record')} of jobs, {count_noun(made.temporary, 'temporary file')}"
        click.echo(f"deleted {left}")
    for each in made.waits:
        click.echo(f"waits: {each}")
    if not (made.found or made.erased or made.planned or made.records or made.temporary or made.waits):
        click.echo("nothing is due")


def _repositories(count: int) -> str:
    return "1 repository" if count == 1 else f"{count:,} repositories"


def _show_plans(plans: "list[DeletedPlan]", form: str) -> None:
    records: list[dict[str, Any]] = [each.as_json() for each in plans]
    if form != "json":
        for each in records:
            each |= {"name": each["name"] or each["id"], "bytes": size_cell(each["bytes"])}
    show_records(records, form, columns=("name", "expired", "until", "files", "bytes"))


def _echo_planned(made: "tuple[DeletedPlan, ...] | list[DeletedPlan]") -> None:
    for each in made:
        files = f"{count_noun(each.files, 'file')}, {size_cell(each.bytes)}"
        click.echo(f"{printable(each.name or each.id)} has expired: {files} will be deleted by a sweep")


def _echo_erased(made: "tuple[ErasedResult, ...] | list[ErasedResult]") -> None:
    for each in made:
        click.echo(
            f"deleted {count_noun(each.files, 'file')} of {printable(each.name or each.id)}, {size_cell(each.bytes)}"
        )
