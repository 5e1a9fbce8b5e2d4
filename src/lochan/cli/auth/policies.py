"""`lochan auth policies`, `attach` and `detach`: policies, and who has them."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lochan.cli.exit_codes import REFUSED
from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import time
from lochan.cli.output.records import all_records, echo_table, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake
from lochan.cli.verb import verb

if TYPE_CHECKING:
    from lochan.api.access import Decision
    from lochan.api.lake import Lake


_GROUP = "group/"


@click.group("policies", cls=LazyGroup)
def group() -> None:
    """List, show, put and delete policies."""


@group.verb("put", "lochan auth policies put readers readers.yaml", changes=True)
@click.argument("name")
@click.argument("file")
def put_command(name: str, file: str, form: str) -> None:
    """Create or replace the policy NAME from FILE, in JSON or YAML; - is standard input.

    If it replaces a policy, that changes for every user who has it.
    """
    text, source = _read(file)

    record = on_lake(lambda lake: lake.access.put_policy(name, text, source=source)).as_json()
    show_answer(record, form, f"put policy {printable(name)}")


def _read(file: str) -> tuple[bytes, str]:
    """Returns the bytes, and what messages call them."""
    if file == "-":
        return sys.stdin.buffer.read(), "standard input"
    try:
        return Path(file).read_bytes(), file
    except FileNotFoundError:
        from lochan.errors import NotFound

        raise NotFound(
            f"{file}: there is no such file", hint="give a JSON or YAML file, or - for standard input"
        ) from None


@group.verb("list", "lochan auth policies list")
def list_command(form: str) -> None:
    """List the policies: first those that every lake has, then the lake's own."""
    records = on_lake(lambda lake: all_records(lake.access.policies()), reads=True)
    if form != "json":
        counted = ("attached_to", "statements")
        records = [{**each, **{name: len(each[name]) for name in counted}} for each in records]
    show_records(records, form, columns=("name", "ready", "statements", "attached_to", "changed", "changed_by"))


@group.verb("show", "lochan auth policies show Admin")
@click.argument("name", metavar="POLICY")
def show_command(name: str, form: str) -> None:
    """Show the policy POLICY, statement by statement."""
    record = on_lake(lambda lake: lake.access.policy(name), reads=True).as_json()
    if form == "json":
        show_record(record, form)
        return
    statements = record.pop("statements")
    show_record({**record, "attached_to": " ".join(record["attached_to"])}, form)
    click.echo()
    has_conditions = any("when" in each for each in statements)
    rows = [
        [each["effect"], *(printable(" ".join(each[key])) for key in ("actions", "resources"))] for each in statements
    ]
    if has_conditions:
        rows = [[*row, _when(each.get("when", {}))] for row, each in zip(rows, statements, strict=True)]
    echo_table(["EFFECT", "ACTIONS", "RESOURCES", *(["WHEN"] if has_conditions else [])], rows)


def _when(conditions: "Mapping[str, Any]") -> str:
    texts = {name: " ".join(value) if isinstance(value, list) else value for name, value in conditions.items()}
    return printable(", ".join(f"{name} {text}" for name, text in texts.items()))


@group.verb("delete", "lochan auth policies delete readers", changes=True)
@click.argument("name", metavar="POLICY")
def delete_command(name: str, form: str) -> None:
    """Delete the policy POLICY. This is refused while it is attached to a user."""
    on_lake(lambda lake: lake.access.delete_policy(name))
    show_answer({"name": name}, form, f"deleted policy {printable(name)}")


@verb("attach", "lochan auth attach ada Analyst", changes=True)
@click.argument("user")
@click.argument("policy")
def attach_command(user: str, policy: str, form: str) -> None:
    """Attach POLICY to USER, or to a group, which is written group/NAME."""

    async def work(lake: "Lake") -> list[str]:
        if user.startswith(_GROUP):
            return list(await lake.access.attach_to_group(policy, user.removeprefix(_GROUP)))
        return list(await lake.access.attach(policy, user))

    policies = on_lake(work)
    show_answer({**_holder(user), "policies": policies}, form, f"attached {printable(policy)} to {printable(user)}")


@verb("detach", "lochan auth detach ada Analyst", changes=True)
@click.argument("user")
@click.argument("policy")
def detach_command(user: str, policy: str, form: str) -> None:
    """Detach POLICY from USER, or from group/NAME. When the command ends, no server applies it any more."""

    async def work(lake: "Lake") -> list[str]:
        if user.startswith(_GROUP):
            return list(await lake.access.detach_from_group(policy, user.removeprefix(_GROUP)))
        return list(await lake.access.detach(policy, user))

    policies = on_lake(work)
    show_answer({**_holder(user), "policies": policies}, form, f"detached {printable(policy)} from {printable(user)}")


def _holder(name: str) -> dict[str, str]:
    return {"group": name.removeprefix(_GROUP)} if name.startswith(_GROUP) else {"user": name}


# `lochan auth actions` and `can` show what a policy can allow, and whether a user may do something.


@verb("actions", "lochan auth actions")
def actions_command(form: str) -> None:
    """List every action, and the resource that it applies to."""
    from lochan.api.access import actions

    records = [each.as_json() for each in actions()]
    show_records(records, form, columns=("action", "resource", "what"))


@verb("can", "lochan auth can ada fs:ReadObject repository/demo/branch/main/object/a.csv")
@click.argument("user")
@click.argument("action")
@click.argument("resource")
@click.option("--address", default="", help="The address that the request comes from. Default: unknown.")
@click.option("--at", metavar="TIME", help="When the request comes. Default: now.")
@click.pass_context
def can_command(
    ctx: click.Context, user: str, action: str, resource: str, address: str, at: str | None, form: str
) -> None:
    """Tell whether USER may do ACTION on RESOURCE.

    The exit code is 0 for yes and 5 for no.
    """
    moment = time("--at", at)
    decision = on_lake(lambda lake: lake.access.can(user, action, resource, address=address, at=moment), reads=True)
    if form == "json":
        record = {name: value for name, value in decision.as_json().items() if name != "fits"}
        show_record({"user": user, "action": action, "resource": resource, **record}, form)
    else:
        click.echo(f"{'allowed' if decision.allowed else 'denied'}: {_why(decision)}")
    if not decision.allowed:
        ctx.exit(REFUSED)


def _why(decision: "Decision") -> str:
    if decision.statement is None:
        return "no statement of the user's policies fits"
    text = f"{decision.statement['effect']} {' on '.join(decision.fits)}"
    return f"statement {decision.number} of policy {printable(decision.policy or '')}: {printable(text)}"
