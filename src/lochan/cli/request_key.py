"""`--request-key` of every command that changes something: a command that is repeated with the same key is carried out
once (rule J8). Without it, a command makes a new key, and prints it if it is unknown whether the change was made."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lochan.connection import Actor

OPTION = "--request-key"
_META = "lochan.request_key"
# The form of the answer and the limits do not make it another request.
_IGNORED = {"form", "yes", "engine", "master", "memory", "output", "resume", "stats"}


class RequestKey:
    def __init__(self, given: str) -> None:
        self.given = given
        self.used = ""  # set when a change may have been sent to the lake

    @property
    def is_given(self) -> bool:
        return bool(self.given)


def key_option(*, alias: bool) -> click.Option:
    """Returns the option for commands that change something. `--key` is an alias, unless it means the fields by which
    rows are sorted."""
    return click.Option(
        [OPTION, *(["--key"] if alias else []), "request_key"],
        metavar="KEY",
        callback=_set_key,
        expose_value=False,
        help="An idempotency key: a request repeated with the same key is done once. Default: a new one.",
    )


def key_of(ctx: click.Context) -> RequestKey | None:
    """Returns the command's key, or None if it changes nothing."""
    found: RequestKey | None = ctx.meta.get(_META)
    return found


def is_repeated(ctx: click.Context) -> bool:
    """Returns whether the command may have been carried out before."""
    key = key_of(ctx)
    return key is not None and key.is_given


def command_actor(ctx: click.Context, actor: "Actor") -> "Actor":
    """Returns the actor, with the key of this command."""
    key = key_of(ctx)
    if key is None:
        return actor
    from lochan.connection import keyed_actor

    return keyed_actor(actor, command_key(ctx), *_request(ctx), is_new=not key.is_given)


def command_key(ctx: click.Context) -> str:
    """Returns the key of this command, which is empty if it changes nothing."""
    key = key_of(ctx)
    if key is None:
        return ""
    if not key.used:
        from lochan.connection import new_key

        key.used = key.given or new_key()
    return key.used


def changes_nothing(ctx: click.Context) -> None:
    """Marks a call as one that changes nothing, of a command that can."""
    ctx.meta.pop(_META, None)


def _set_key(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        from lochan.api.options import check_key

        check_key(value)
    ctx.meta[_META] = RequestKey(value or "")


def _request(ctx: click.Context) -> tuple[str, str]:
    """Returns the command with its arguments and options. The same words are the same request."""
    import json

    request = {name: value for name, value in sorted(ctx.params.items()) if name not in _IGNORED}
    name = ctx.command_path.partition(" ")[2]
    return name, json.dumps(request, default=str)
