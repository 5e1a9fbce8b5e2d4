"""`lochan doctor`: whether this machine and this store can carry a lake."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from lochan.cli.output.records import cell, echo_table, format_option, show_records

if TYPE_CHECKING:
    from lochan.cli.checks import Check
    from lochan.config.values import Config


@click.command("doctor")
@click.option("--spark", is_flag=True, help="Also start Spark on one core and run a tiny job.")
@format_option
def doctor_command(spark: bool, form: str) -> None:
    """Check versions, disk, store and lake. For each trouble it says what to do about it.

    The store is put to the test that everything rests on: several writers race to create one object. A store where
    two of them win is refused, with exit code 5.

    \b
    Example:
      lochan doctor
    """
    from lochan.cli.checks import FAIL
    from lochan.cli.session import configuration

    checks = list(_checks(configuration(), spark=spark))
    if form == "json":
        records = [
            {"check": each.name, "status": each.status, "found": each.found, "advice": each.advice} for each in checks
        ]
        show_records(records, form, columns=())
    else:
        _print(checks)
    first = next((each for each in checks if each.status == FAIL), None)
    if first is not None:
        click.get_current_context().exit(first.exit_code)


def _checks(config: "Config", *, spark: bool) -> Iterator["Check"]:
    from lochan.cli.checks import check_disk, check_lake, check_versions
    from lochan.cli.session import run
    from lochan.clock import SystemClock
    from lochan.connection import cache_place, lake_place

    needed = {"java", "pyspark"} if spark else set()
    if config["journal.type"] == "postgres":
        needed.add("psycopg")
    yield from check_versions(os.environ, needed=frozenset(needed))
    yield check_disk("cache disk", cache_place(config))
    found = lake_place(config)
    if found.folder is not None:
        yield check_disk("lake disk", found.folder)
    yield from run(config, check_lake(config, found))
    if spark:
        from lochan.cli.checks import check_spark_job

        yield check_spark_job(SystemClock())


def _print(checks: list["Check"]) -> None:
    rows = []
    for each in checks:
        rows.append((f"{each.status:<4}", each.name, cell(each.found)))
        if each.advice:
            rows.append(("    ", "", f"→ {cell(each.advice)}"))
    echo_table(("", "", ""), rows, begun=True)
