"""`lochan config show`: every setting, its value and where that came from; secrets are masked."""

import click

from lochan.cli.shown import format_option, show_records


@click.command("show")
@format_option
def command(form: str) -> None:
    """Show every setting, its value and where that came from.

    The setting `lake` shows the lake that commands use here, and how it was found. Secrets are masked.

    \b
    Example:
      lochan config show
    """
    from lochan.cli.session import configuration, lake_place

    config = configuration()
    records = [{"key": key, "value": config.shown(key), "source": config.source(key).text} for key in config]
    found = lake_place(config)
    for record in records:
        if record["key"] == "lake" and not config.is_set("lake"):
            record.update(value=found.url, source=found.how)
    show_records(records, form, columns=("key", "value", "source"))
