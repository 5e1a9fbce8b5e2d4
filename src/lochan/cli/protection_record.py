"""The rules that protect branches, as the command line shows them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lochan.cli.shown import show_records

if TYPE_CHECKING:
    from lochan.formats.repository_events import Protection


def show_rules(rules: "Iterable[Protection]", form: str) -> None:
    records = [{"pattern": rule.pattern, "blocked": list(rule.blocked)} for rule in rules]
    if form != "json":
        records = [{**each, "blocked": ", ".join(each["blocked"])} for each in records]
    show_records(records, form, columns=("pattern", "blocked"))
