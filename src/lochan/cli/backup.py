"""`lochan backup` and `lochan restore`: copies a lake while it is used, and makes a lake from such a copy."""

from typing import TYPE_CHECKING

import click

from lochan.cli import exit_codes
from lochan.cli.output.records import cell, count_noun, printable, show_record, size_cell
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.recovery import BackupResult


@verb("backup", "lochan backup /backups/lake", "lochan backup s3://bucket/backup --verify")
@click.argument("destination", metavar="PATH-OR-URL")
@click.option("--verify", is_flag=True, help="Read the whole backup again, and compare it with its hashes.")
def backup_command(destination: str, verify: bool, form: str) -> None:
    """Copy the lake to another folder or store, beside its writers.

    The backup is the lake as its journals were at one number each. A second backup to the same place copies what is
    new. If it is interrupted, the last complete backup stays usable. Files outside the lake, which were imported or
    linked, are not copied. The keys of the lake are: whoever has the backup has all of the lake.
    """
    from lochan.cli.session import on_lake

    made = on_lake(lambda lake: lake.backup(destination, verify=verify))
    _show(made, form, "backed up", "the backup was read again, and is right" if verify else "")


@verb("restore", "lochan restore /backups/lake /data/lake")
@click.argument("source", metavar="SOURCE")
@click.argument("destination", metavar="PATH-OR-URL")
@click.option("--no-check", is_flag=True, help="Do not check the new lake afterwards.")
def restore_command(source: str, destination: str, no_check: bool, form: str) -> None:
    """Make a lake from a backup, in an empty folder or prefix. Then check it, as `lochan fsck` does.

    It is a lake only when everything is there. If it is interrupted, run it again. The lake has the id of the one that
    was backed up, and its journals are files, also if they were in a database.
    """
    from lochan.cli.session import configuration, run
    from lochan.lake_check import restore

    config = configuration()
    made, damaged = run(config, restore(config, source, destination, check=not no_check))
    checked = "" if no_check else f"{damaged:,} damaged" if damaged else "the new lake was checked, and is right"
    _show(made, form, "restored", checked)
    if damaged:
        click.get_current_context().exit(exit_codes.CORRUPT)


def _show(made: "BackupResult", form: str, verb: str, checked: str) -> None:
    if form == "json":
        show_record(made.as_json(), form)
    else:
        repositories = "1 repository" if made.repositories == 1 else f"{made.repositories:,} repositories"
        click.echo(f"{verb} {repositories} to {printable(made.url)}")
        copied = f"copied {count_noun(made.files, 'file')}, {size_cell(made.bytes)}"
        click.echo(f"{copied}; {made.kept:,} were there already")
        for each in made.lost:
            click.echo(f"lost before: {cell(each)}")
        if checked:
            click.echo(checked)
    if made.lost:
        click.get_current_context().exit(exit_codes.CORRUPT)
