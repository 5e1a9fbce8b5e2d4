"""`lochan doctor`: whether this machine and this store can carry a lake."""

from typing import TYPE_CHECKING

import click

from lochan.cli import exit_codes
from lochan.cli.output.records import cell, echo_table, format_option, show_records

if TYPE_CHECKING:
    from lochan.api.doctor import DoctorCheck


@click.command("doctor")
@click.option("--spark", is_flag=True, help="Also start Spark on one core and run a small job (about ten seconds).")
@format_option
def doctor_command(spark: bool, form: str) -> None:
    """Check versions, disks, store and lake. For each problem it says what to do.

    The store is tested for what everything depends on: several writers race to create one object. If two of them win,
    the store is refused, with exit code 5.

    \b
    Example:
      lochan doctor
    """
    import msgspec

    from lochan.cli.session import configuration, run
    from lochan.connection import doctor

    config = configuration()
    checks = run(config, doctor(config, spark=spark))
    if form == "json":
        show_records([msgspec.to_builtins(each) for each in checks], form, columns=())
    else:
        _print(checks)
    failed = [each for each in checks if each.kind]
    if failed:
        click.get_current_context().exit(exit_codes.BY_KIND[failed[0].kind])


def _print(checks: list["DoctorCheck"]) -> None:
    rows = []
    for each in checks:
        rows.append((f"{each.status:<4}", each.check, cell(each.found)))
        if each.advice:
            rows.append(("    ", "", f"→ {cell(each.advice)}"))
    echo_table(("", "", ""), rows, begun=True)
