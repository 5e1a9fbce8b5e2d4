"""`lochan config show`: every setting, its value and where that came from; secrets are masked."""

import click

from lochan.cli.shown import format_option, show_records


@click.command("show")
@format_option
def command(form: str) -> None:
    """Show every setting, its value and where that came from.

    Secrets are masked.
    """
    from lochan.cli.session import configuration

    config = configuration()
    records = [{"key": key, "value": config.shown(key), "source": config.source(key).text} for key in config]
    show_records(records, form, columns=("key", "value", "source"))
