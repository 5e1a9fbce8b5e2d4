"""`lochan auth sessions`: the users who have signed in. `lochan auth identities`: their identities at other
services."""

import click

from lochan.cli.lazy_group import LazyGroup
from lochan.cli.options import confirm, yes_option
from lochan.cli.output.records import all_records, printable, show_answer, show_records
from lochan.cli.session import on_lake
from lochan.errors import Invalid


@click.group("sessions", cls=LazyGroup)
def sessions() -> None:
    """List and end the sessions of people who have signed in."""


@sessions.verb("list", "lochan auth sessions list --user ada")
@click.option("--user", metavar="USER", help="Only the sessions of this user. Default: of everybody.")
def list_sessions_command(user: str | None, form: str) -> None:
    """List the open sessions: whose they are, how and from where they were opened, and when they expire."""
    records = on_lake(lambda lake: all_records(lake.access.sessions()), reads=True)
    if user is not None:
        records = [each for each in records if each["user"] == user]
    more = tuple(each for each in ("access_key_id", "source") if any(row[each] for row in records))
    show_records(records, form, columns=("id", "user", "how", "address", "begun", "expires", *more))


@sessions.verb("end", "lochan auth sessions end LKSSAAAAAAAAAAAAAAAA", changes=True)
@click.argument("id", metavar="[SESSION-ID]", required=False)
@click.option("--user", metavar="USER", help="End all sessions of this user.")
@yes_option
def end_command(id: str | None, user: str | None, yes: bool, form: str) -> None:
    """End the session SESSION-ID, or all sessions of a user. When the command ends, no server accepts them any more.

    On a terminal it asks first; a script must give --yes.
    """
    if bool(id) == bool(user):
        raise Invalid("give the id of one session, or --user", hint="`lochan auth sessions list` shows the ids")
    if not yes:
        what = f"session {id}" if id else f"all sessions of {user}"
        confirm(f"End {what}?", f"{what} was not ended")
    if id:
        on_lake(lambda lake: lake.access.end_session(id))
        show_answer({"id": id}, form, f"ended session {printable(id)}")
    elif user:
        ended = on_lake(lambda lake: lake.access.end_sessions(user))
        show_answer({"user": user, "ended": ended}, form, f"ended the sessions of {printable(user)}: {ended}")


@click.group("identities", cls=LazyGroup)
def identities() -> None:
    """Say which identities of other services sign in as which users."""


@identities.verb("list", "lochan auth identities list")
def list_identities_command(form: str) -> None:
    """List the identities of other services, by user."""
    records = on_lake(lambda lake: all_records(lake.access.identities()), reads=True)
    show_records(records, form, columns=("user", "source", "subject", "linked", "linked_by"))


@identities.verb(
    "link", "lochan auth identities link ada 'oidc https://accounts.example.com' 248289761001", changes=True
)
@click.argument("user")
@click.argument("source")
@click.argument("subject")
def link_command(user: str, source: str, subject: str, form: str) -> None:
    """Let whoever SOURCE calls SUBJECT sign in as USER, who may have been there before.

    SOURCE is the word oidc and the issuer: the message that refuses a sign-in names both.
    """
    record = on_lake(lambda lake: lake.access.link_identity(user, source, subject)).as_json()
    show_answer(record, form, f"linked {printable(subject)} of {printable(source)} to user {printable(user)}")


@identities.verb(
    "unlink", "lochan auth identities unlink ada 'oidc https://accounts.example.com' 248289761001", changes=True
)
@click.argument("user")
@click.argument("source")
@click.argument("subject")
@yes_option
def unlink_command(user: str, source: str, subject: str, yes: bool, form: str) -> None:
    """Take the link of SUBJECT of SOURCE to USER back. The sessions that it opened end; the user stays.

    On a terminal it asks first; a script must give --yes.
    """
    if not yes:
        confirm(f"Unlink {subject} of {source} from {user}?", f"{subject} was not unlinked")
    on_lake(lambda lake: lake.access.unlink_identity(user, source, subject))
    record = {"user": user, "source": source, "subject": subject}
    show_answer(record, form, f"unlinked {printable(subject)} of {printable(source)} from user {printable(user)}")
