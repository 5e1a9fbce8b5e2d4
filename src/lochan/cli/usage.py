"""`lochan usage`: the log of who read or wrote what."""

from typing import TYPE_CHECKING

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.output.records import count_noun, show_answer, show_record, show_records

if TYPE_CHECKING:
    from lochan.api.usage import UsageCompactResult, UsageStatus


@click.group("usage", cls=LazyGroup)
def group() -> None:
    """Look after the usage log: who read or wrote what. `lochan query 'from :usage'` reads it."""


@group.verb("show", "lochan usage show --days 90")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, help="How far to look back."
)
def show_command(days: float, form: str) -> None:
    """Show up to when reads may have gone unnoticed, and why."""
    from lochan.cli.session import on_lake

    found: UsageStatus = on_lake(lambda lake: lake.usage(days))
    record = found.as_json()
    if form == "json":
        show_record(record, form)
        return
    gaps = record.pop("gaps")
    show_record({name: value for name, value in record.items() if value not in ("", None)}, form)
    if gaps:
        show_records(gaps, form, columns=("since", "until", "why"))


@group.verb("compact", "lochan usage compact --keep-days 90")
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0, min_open=True),
    help="Delete days that are older. By default the setting usage.keep_days counts.",
)
def compact_command(keep_days: float | None, form: str) -> None:
    """Make one file of each past day of the usage log, and delete old days.

    Days that a rule about the last read needs are never deleted.
    """
    from lochan.cli.session import configuration, on_lake

    kept = keep_days or configuration().settings.usage.keep_days
    done: UsageCompactResult = on_lake(lambda lake: lake.compact_usage(kept))
    merged = f"{count_noun(done.files, 'file')} of {count_noun(done.days, 'day')}"
    text = f"compacted {merged}, {count_noun(done.rows, 'row')}; deleted {count_noun(done.deleted_days, 'day')}"
    show_answer(done.as_json(), form, "\n".join([text, *(f"cannot be read: {each.why}" for each in done.gaps)]))
