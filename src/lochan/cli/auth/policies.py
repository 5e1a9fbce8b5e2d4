"""`lochan auth policies`, `attach` and `detach`: policies, and who has them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options.request_key import request_key
from lochan.cli.output.records import echo_table, format_option, printable, show_record, show_records
from lochan.cli.session import on_lake

if TYPE_CHECKING:
    from lochan.api.lake import Lake


@click.group("policies", cls=LazyGroup)
def group() -> None:
    """List, show, put and delete policies."""


@group.command("put")
@click.argument("name")
@click.argument("file")
@request_key
@format_option
def put_command(name: str, file: str, form: str) -> None:
    """Put the policy NAME as FILE says, in JSON or YAML; - is standard input.

    One of that name is replaced, for everybody who has it.

    \b
    Example:
      lochan auth policies put readers readers.yaml
    """
    text, source = _read(file)

    async def work(lake: "Lake") -> dict[str, Any]:
        return (await lake.access.put_policy(name, text, source=source)).as_json()

    record = on_lake(work)
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


@group.command("list")
@format_option
def list_command(form: str) -> None:
    """List the policies: first those that every lake has, then the lake's own.

    \b
    Example:
      lochan auth policies list
    """

    async def work(lake: "Lake") -> list[dict[str, Any]]:
        return [each.as_json() async for each in lake.access.policies()]

    records = on_lake(work, reads=True)
    if form != "json":
        counted = ("attached_to", "statements")
        records = [{**each, **{name: len(each[name]) for name in counted}} for each in records]
    show_records(records, form, columns=("name", "ready", "statements", "attached_to", "changed", "changed_by"))


@group.command("show")
@click.argument("name", metavar="POLICY")
@format_option
def show_command(name: str, form: str) -> None:
    """Show the policy POLICY, statement by statement.

    \b
    Example:
      lochan auth policies show Admin
    """

    async def work(lake: "Lake") -> dict[str, Any]:
        return (await lake.access.policy(name)).as_json()

    record = on_lake(work, reads=True)
    if form == "json":
        show_record(record, form)
        return
    statements = record.pop("statements")
    show_record({**record, "attached_to": " ".join(record["attached_to"])}, form)
    click.echo()
    echo_table(
        ["EFFECT", "ACTIONS", "RESOURCES"],
        [
            [each["effect"], *(printable(" ".join(each[key])) for key in ("actions", "resources"))]
            for each in statements
        ],
    )


@group.command("delete")
@click.argument("name", metavar="POLICY")
@request_key
@format_option
def delete_command(name: str, form: str) -> None:
    """Delete the policy POLICY. It is refused while the policy is attached to somebody.

    \b
    Example:
      lochan auth policies delete readers
    """

    async def work(lake: "Lake") -> None:
        await lake.access.delete_policy(name)

    on_lake(work)
    if form == "json":
        show_record({"name": name}, form)
    else:
        click.echo(f"deleted policy {printable(name)}")


@click.command("attach")
@click.argument("user")
@click.argument("policy")
@request_key
@format_option
def attach_command(user: str, policy: str, form: str) -> None:
    """Attach POLICY to USER.

    \b
    Example:
      lochan auth attach ada Analyst
    """

    async def work(lake: "Lake") -> list[str]:
        return list(await lake.access.attach(policy, user))

    policies = on_lake(work)
    if form == "json":
        show_record({"user": user, "policies": policies}, form)
    else:
        click.echo(f"attached {printable(policy)} to {printable(user)}")


@click.command("detach")
@click.argument("user")
@click.argument("policy")
@request_key
@format_option
def detach_command(user: str, policy: str, form: str) -> None:
    """Detach POLICY from USER. When this is answered, it counts at no server any more.

    \b
    Example:
      lochan auth detach ada Analyst
    """

    async def work(lake: "Lake") -> list[str]:
        return list(await lake.access.detach(policy, user))

    policies = on_lake(work)
    if form == "json":
        show_record({"user": user, "policies": policies}, form)
    else:
        click.echo(f"detached {printable(policy)} from {printable(user)}")
