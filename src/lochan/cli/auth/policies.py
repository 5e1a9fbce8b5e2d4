"""`lochan auth policies`, `attach` and `detach`: policies, and who has them."""

import sys
from pathlib import Path
from typing import Any

import click

from lochan.cli.auth.records import OpenedAccess, change, look, policy_record, words
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options.request_key import request_key
from lochan.cli.output.records import echo_table, format_option, printable, show_record, show_records


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
    from lochan.access.policy_file import parse

    statements = parse(*_read(file))

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


@group.command("list")
@format_option
def list_command(form: str) -> None:
    """List the policies: first those that every lake has, then the lake's own.

    \b
    Example:
      lochan auth policies list
    """
    records = look(lambda access: [policy_record(access, each) for each in access.policies()])
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
    record = look(lambda access: policy_record(access, access.policy(name)))
    if form == "json":
        show_record(record, form)
        return
    statements = record.pop("statements")
    show_record(words(record, "attached_to"), form)
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

    async def work(opened: OpenedAccess) -> None:
        from lochan.access.policies import delete_policy

        await delete_policy(opened.access, name, actor=opened.actor)

    change(work)
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

    async def work(opened: OpenedAccess) -> list[str]:
        from lochan.access.policies import attach
        from lochan.access.state import principal

        await attach(opened.access, policy, principal(user), actor=opened.actor)
        return list(opened.access.folded().attached_to(principal(user)))

    policies = change(work)
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

    async def work(opened: OpenedAccess) -> list[str]:
        from lochan.access.policies import detach
        from lochan.access.state import principal

        await detach(opened.access, policy, principal(user), actor=opened.actor)
        return list(opened.access.folded().attached_to(principal(user)))

    policies = change(work)
    if form == "json":
        show_record({"user": user, "policies": policies}, form)
    else:
        click.echo(f"detached {printable(policy)} from {printable(user)}")
