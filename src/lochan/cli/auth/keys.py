"""`lochan auth keys`: access keys, whose secrets are shown once. `lochan auth tokens`: short-lived credentials."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, seconds, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_record, show_records
from lochan.cli.session import on_lake
from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.lake import Lake

F = TypeVar("F", bound=Callable[..., Any])


def _only_option(command: F) -> F:
    return click.option(
        "--only",
        multiple=True,
        metavar="WHERE",
        help="Allow nothing elsewhere: REPO, REPO@BRANCH, REPO@BRANCH/PREFIX, or a pattern of resources. May be "
        "repeated.",
    )(command)


def _for_option(text: str) -> Callable[[F], F]:
    return click.option("--for", "lasts", metavar="TIME", help=text)


@click.group("keys", cls=LazyGroup)
def keys() -> None:
    """Create, list, rotate and revoke access keys."""


@keys.verb("create", "lochan auth keys create ada", changes=True)
@click.argument("user")
@click.option("--access-key-id", "id", metavar="ID", help="The key's id. Default: a new one.")
@click.option(
    "--secret-access-key",
    "secret",
    metavar="SECRET",
    help="The secret; - reads it from standard input, out of sight of process lists. Default: a new one.",
)
@_only_option
@_for_option("How long the key lasts, such as 90d. Default: for ever.")
def create_key_command(
    user: str, id: str | None, secret: str | None, only: tuple[str, ...], lasts: str | None, form: str
) -> None:
    """Create an access key for USER. The secret is shown now, and never again."""
    id = _require_text(id, "id")
    secret = _require_text(sys.stdin.readline().rstrip("\r\n") if secret == "-" else secret, "secret")
    from lochan.api.access import limit_patterns

    limits, lasts_s = limit_patterns(only), _seconds("--for", lasts) if lasts else 0.0
    made = on_lake(lambda lake: lake.access.create_key(user, id=id, secret=secret, limits=limits, lasts_s=lasts_s))
    _show_once(made.as_json(), form)


def _show_once(record: dict[str, Any], form: str) -> None:
    show_record(record, form)
    if form != "json":
        click.echo("keep the secret: it is not shown again", err=True)


def _seconds(option: str, text: str) -> float:
    """Parses a length of time, which may also be in days. Raises Invalid."""
    days = text.removesuffix("d")
    return 86_400.0 * int(days) if text != days and days.isdecimal() and len(days) < 7 else seconds(option, text)


def _require_text(text: str | None, what: str) -> str:
    """Returns the text. Raises Invalid for an empty one, which comes from an unset variable of a script, and is no
    request for a new one."""
    if text == "":
        raise Invalid(f"the {what} that was given is empty", hint="leave it out to get a new one")
    return text or ""


@keys.verb("list", "lochan auth keys list ada")
@click.argument("user")
def list_keys_command(user: str, form: str) -> None:
    """List the access keys of USER: the oldest first, without their secrets."""
    records = on_lake(lambda lake: all_records(lake.access.keys(user)), reads=True)
    if form != "json":
        records = [{**each, "limits": " ".join(each["limits"])} for each in records]
    more = tuple(each for each in ("expires", "limits") if any(row[each] for row in records))
    show_records(records, form, columns=("access_key_id", "created", "created_by", *more))


@keys.verb("rotate", "lochan auth keys rotate LKIAAAAAAAAAAAAAAAAA --grace 1d", changes=True)
@click.argument("id", metavar="KEY-ID")
@click.option("--grace", metavar="TIME", help="How long the old key still works, such as 1d. Default: it ends now.")
@_for_option("How long the new key lasts, such as 90d. Default: as long as the old one.")
def rotate_command(id: str, grace: str | None, lasts: str | None, form: str) -> None:
    """Create a key with the same user and limits in place of KEY-ID. The secret is shown now, and never again."""
    grace_s, lasts_s = (_seconds(name, text) if text else 0.0 for name, text in (("--grace", grace), ("--for", lasts)))
    _show_once(on_lake(lambda lake: lake.access.rotate_key(id, grace_s=grace_s, lasts_s=lasts_s)).as_json(), form)


@keys.verb("revoke", "lochan auth keys revoke LKIAAAAAAAAAAAAAAAAA", changes=True)
@click.argument("id", metavar="KEY-ID")
@yes_option
def revoke_command(id: str, yes: bool, form: str) -> None:
    """Revoke the access key KEY-ID. When the command ends, no server accepts it any more.

    On a terminal it asks first; a script must give --yes.
    """

    async def find_user(lake: "Lake") -> str:
        return (await lake.access.key(id)).user

    if not yes:
        confirm(f"Revoke access key {id} of {on_lake(find_user, reads=True)}?", f"{id} was not revoked")
    on_lake(lambda lake: lake.access.revoke_key(id))
    show_answer({"access_key_id": id}, form, f"revoked access key {printable(id)}")


@click.group("tokens", cls=LazyGroup)
def tokens() -> None:
    """Create short-lived credentials."""


@tokens.verb("create", "lochan auth tokens create LKIAAAAAAAAAAAAAAAAA --for 1h --only demo@main/data/")
@click.argument("id", metavar="KEY-ID")
@_only_option
@_for_option("How long they last, a week at most. Default: 1h.")
def create_token_command(id: str, only: tuple[str, ...], lasts: str | None, form: str) -> None:
    """Create short-lived credentials of the access key KEY-ID.

    They allow no more than the key, and end with it. Over S3, send all three of id, secret and session token; over the
    API, the token alone as a Bearer token.
    """
    from lochan.api.access import limit_patterns

    limits, lasts_s = limit_patterns(only), _seconds("--for", lasts) if lasts else 3_600.0
    _show_once(on_lake(lambda lake: lake.access.create_token(id, limits=limits, lasts_s=lasts_s)).as_json(), form)
