"""`lochan auth policies put`: a policy from a file."""

import sys
from pathlib import Path
from typing import Any

import click

from lochan.cli.auth_records import policy_record
from lochan.cli.auth_work import OpenedAccess, change
from lochan.cli.request_key import request_key
from lochan.cli.shown import format_option, printable, show_record


@click.command("put")
@click.argument("name")
@click.argument("file")
@request_key
@format_option
def command(name: str, file: str, form: str) -> None:
    """Put the policy NAME as FILE says, in JSON or YAML; - is standard input.

    One of that name is replaced, for everybody who has it.

    \b
    Example:
      lochan auth policies put readers readers.yaml
    """
    from lochan.access.policies import parse_statements

    statements = parse_statements(*_read(file))

    async def work(opened: OpenedAccess) -> dict[str, Any]:
        from lochan.access.policies import put_policy

        await put_policy(opened.access, name, statements, actor=opened.actor)
        return policy_record(opened.access.folded(), opened.access.folded().policy(name))

    record = change(work)
    if form == "json":
        show_record(record, form)
    else:
        click.echo(f"put policy {printable(name)}")


def _read(file: str) -> tuple[bytes, str]:
    """The bytes, and what messages call them."""
    if file == "-":
        return sys.stdin.buffer.read(), "standard input"
    try:
        return Path(file).read_bytes(), file
    except FileNotFoundError:
        from lochan.errors import NotFound

        raise NotFound(
            f"{file}: there is no such file", hint="give a JSON or YAML file, or - for standard input"
        ) from None
