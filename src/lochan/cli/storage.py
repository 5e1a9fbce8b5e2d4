"""`lochan dedupe`, `gc repack`, `gc dangling` and `fs coalesce`: how a repository's bytes are stored."""

from typing import TYPE_CHECKING

import click

from lochan.cli.options import engine_options, job_options
from lochan.cli.output.progress import StageBar
from lochan.cli.output.records import count_noun, show_answer, show_record, show_records, size_cell
from lochan.cli.target import Target, prefix_uri, repository_uri, work_on
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.storage import DedupeResult

_SHOWN = 10
repository_argument = click.argument("repository", metavar="REPO")


@verb("dedupe", "lochan dedupe demo --report", "lochan dedupe demo")
@repository_argument
@click.option("--report", is_flag=True, help="Only show what could be saved.")
@job_options
def dedupe_command(
    repository: str, report: bool, engine: str, master: str | None, memory: str | None, form: str
) -> None:
    """Keep equal blocks once, over all commits of a repository or pool.

    The block that is kept is read and checked first. No object and no commit changes: readers find the same bytes in
    one place. Equal data objects of a pool share one file. The next garbage collection removes the others.
    """

    options = engine_options(engine, master, memory)

    async def work(target: Target) -> "DedupeResult":
        storage = target.repository.storage
        return await (storage.duplicates if report else storage.dedupe)(options, progress=bar.show)

    with StageBar("dedupe", visible=form != "json") as bar:
        found = work_on(repository_uri(repository), work)
    if form == "json":
        show_record(found.as_json(), form)
        return
    what = f"{count_noun(found.duplicates, 'block')}, {size_cell(found.duplicate_bytes)}"
    of = f"{count_noun(found.blocks, 'block')}, {size_cell(found.bytes)}"
    click.echo(f"{'could be saved' if report else 'saved'}: {what}, of {of}")
    if found.duplicates:
        click.echo(f"  {size_cell(found.freed_bytes)} by the next garbage collection")
    if found.packed_bytes:
        hint = "`lochan gc repack REPO` rewrites packs that are mostly dead"
        click.echo(f"  {size_cell(found.packed_bytes)} in packs with other objects; {hint}")
    _show_damaged(found.damaged)


@verb("repack", "lochan gc repack demo --dry-run", "lochan gc repack demo --below 0.3")
@repository_argument
@click.option(
    "--below",
    type=click.FloatRange(min=0, max=1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Rewrite files of which less than this share is still needed.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be rewritten.")
def repack_command(repository: str, below: float, dry_run: bool, form: str) -> None:
    """Rewrite packs that are mostly dead.

    Small objects share files. What is alive in a sparse one is checked and copied to a new file. No object and no
    commit changes. The next garbage collection removes the old file.
    """
    uri = repository_uri(repository)
    found = work_on(
        uri,
        lambda target: (
            target.repository.storage.sparse_files(below) if dry_run else target.repository.storage.repack(below)
        ),
    )
    if form == "json":
        show_record(found.as_json(), form)
        return
    click.echo(
        f"{'would rewrite' if dry_run else 'rewrote'} {count_noun(found.files, 'file')}, {size_cell(found.bytes)}: "
        f"{size_cell(found.copied_bytes)} copied, {size_cell(found.freed_bytes)} freed by the next garbage collection"
    )
    if found.left:
        click.echo(f"  {count_noun(found.left, 'file')} left: a block has no SHA-256 to compare it with")
    _show_damaged(found.damaged)


@verb("dangling", "lochan gc dangling demo")
@repository_argument
def dangling_command(repository: str, form: str) -> None:
    """Find blocks that are named and that the store does not have.

    Garbage collection never makes one. Somebody has deleted the file, or a lifecycle rule of the bucket has.
    """
    found = work_on(repository_uri(repository), lambda target: target.repository.storage.dangling())
    if form == "json":
        show_record(found.as_json(), form)
    else:
        click.echo(f"checked {count_noun(found.checked, 'block')}: {len(found.blocks):,} dangling")
        if found.blocks:
            rows = [{**each.as_json(), "paths": ", ".join(each.paths)} for each in found.blocks]
            show_records(rows, form, columns=("reason", "size", "address", "paths"))
    if found.blocks:
        raise click.exceptions.Exit(1)


@verb("coalesce", "lochan fs coalesce demo@main/big.parquet", "lochan fs coalesce demo@main/tables/")
@click.argument("where", metavar="REPO[@REF]/[PATH]")
def coalesce_command(where: str, form: str) -> None:
    """Store objects of many blocks as one file each.

    Engines that read whole files need them so. A path that ends with a slash stands for everything below it. No object
    and no commit changes.
    """
    uri = prefix_uri(where)
    made = work_on(uri, lambda target: target.repository.storage.coalesce(uri.ref, uri.path))
    text = f"wrote {count_noun(made.objects, 'object')} as one file each, {size_cell(made.bytes)}"
    show_answer(made.as_json(), form, text)
    if form != "json":
        for each in made.left[:_SHOWN]:
            click.echo(f"  left {each.path}: {each.reason}")


def _show_damaged(addresses: tuple[str, ...]) -> None:
    for address in addresses[:_SHOWN]:
        click.echo(f"  damaged, and left as it is: {address}")
