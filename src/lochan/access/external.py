"""People who sign in at another service, such as an OpenID provider or a directory, as users of the lake.

    identity (source, subject) ── linked ──▶ user ── member of ──▶ groups that the provider's groups are mapped to

The link is made when the user is created, at the first sign-in, or by an administrator. A name alone is not enough: the
same name may belong to another person here, and a provider may give it to another person later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from lochan.access.open_access import OpenAccess
from lochan.access.state import AccessState, LinkedIdentity
from lochan.access.users import check_name
from lochan.errors import Invalid, NotFound, Refused
from lochan.formats.events import Event
from lochan.formats.lake_events import IdentityLinked, IdentityUnlinked, MemberAdded, MemberRemoved, UserCreated
from lochan.formats.record import Actor

_TEXT_MAX = 512
_LISTED = "`lochan auth identities list` shows those there are"


class ExternalIdentity(NamedTuple):
    source: str  # the service with its address: a subject means nothing elsewhere
    subject: str  # what it calls them for ever
    name: str  # what it calls them now; the name of the user that is made for them
    groups: frozenset[str] = frozenset()  # as the service calls them


class ProviderGroups(NamedTuple):
    """What the groups of a service mean in the lake."""

    mapping: Mapping[str, tuple[str, ...]] = {}  # from a group of the service to groups of the lake
    allowed: frozenset[str] = frozenset()  # groups of the service; only their members may sign in; none: everyone may

    def mapped(self) -> frozenset[str]:
        """Returns the lake's groups whose members follow the service."""
        return frozenset(group for groups in self.mapping.values() for group in groups)

    def of(self, identity: ExternalIdentity) -> frozenset[str]:
        return frozenset(group for name in identity.groups for group in self.mapping.get(name, ()))


class SignInRefused(Refused):
    """The service has identified the person, but the lake does not let them in."""


async def sign_in(
    access: OpenAccess, identity: ExternalIdentity, groups: ProviderGroups, acting: Callable[[str], Actor]
) -> str:
    """Returns the user of this identity, and puts them into the groups that the service's groups are mapped to. Creates
    the user if there is none. `acting` returns the actor for the user's name. REQUIRES: the service has identified the
    person just now. Raises Invalid for a name that no user can have, SignInRefused, and Refused if no user would have
    the policy Admin."""
    check_identity(identity.source, identity.subject)
    if groups.allowed and not groups.allowed & identity.groups:
        raise SignInRefused(
            f"{identity.name!r} is in none of the groups that may sign in to this lake",
            hint="the administrator of the identity provider, or of this lake, can change that",
        )
    state = await access.state()
    user = _user_of(state, identity)
    changes = _changes(state, identity, groups)
    if changes:
        # A policy of a group may deny something, so joining one must be in force everywhere at once, as leaving one
        # must.
        takes_away = any(isinstance(each, (MemberAdded, MemberRemoved)) for each in changes)
        decide = lambda state: _changes(state, identity, groups)  # noqa: E731
        await access.submit(acting(user), decide, "sign-in", identity.source, identity.subject, takes_away=takes_away)
        user = _user_of(access.folded(), identity)  # linked to another one meanwhile
    return user


def _changes(state: AccessState, identity: ExternalIdentity, groups: ProviderGroups) -> Sequence[Event]:
    """Returns the events that bring the state in line with the service. Raises Invalid or SignInRefused."""
    if state.is_empty():
        raise SignInRefused(
            "the lake has no administrator yet", hint="set it up first, by the link that `lochan serve` prints"
        )
    known = state.identity(identity.source, identity.subject)
    name = _user_of(state, identity)
    changes: list[Event] = []
    if known is None:
        _check_name(state, identity)
        changes += [UserCreated(name), IdentityLinked(identity.source, identity.subject, name)]
    elif state.user(name).disabled:
        raise SignInRefused(f"user {name!r} is disabled", hint="an administrator of this lake can enable it again")
    return [*changes, *_memberships(state, name, groups.mapped(), groups.of(identity))]


def _memberships(state: AccessState, user: str, mapped: frozenset[str], wanted: frozenset[str]) -> list[Event]:
    """Returns the events that change the user's groups. Groups that nothing is mapped to stay as they are."""
    now = set(state.groups_of(user))
    missing = sorted(each for each in wanted if each not in state.group_table)
    if missing:
        # Without it the user might be allowed too much, too: its policies may deny something.
        raise SignInRefused(
            f"the lake has no group {missing[0]!r}, which the configuration maps a group of the provider to",
            hint=f"an administrator of this lake can make it: `lochan auth groups create {quote(missing[0])}`",
        )
    joined = [MemberAdded(group, user) for group in sorted(wanted - now)]
    left = [MemberRemoved(group, user) for group in sorted((mapped & now) - wanted)]
    return [*joined, *left]


def _user_of(state: AccessState, identity: ExternalIdentity) -> str:
    known = state.identity(identity.source, identity.subject)
    return identity.name if known is None else known.user


def _check_name(state: AccessState, identity: ExternalIdentity) -> None:
    """Raises Invalid for a name that no user can have, and SignInRefused if a user has that name already, in upper or
    lower case: people would confuse the two."""
    try:
        check_name("user", identity.name)
    except Invalid as error:
        raise Invalid(f"{error.message}, and the identity provider gives it", hint=error.hint) from None
    for user in state.users():
        if user.name.casefold() == identity.name.casefold():
            raise SignInRefused(
                f"the lake has a user {user.name!r} already, who is not the identity {identity.subject!r} of "
                f"{identity.source!r}",
                hint="an administrator of this lake can link the two: `lochan auth identities link "
                f"{quote(user.name)} {quote(identity.source)} {quote(identity.subject)}`",
            )


def check_identity(source: str, subject: str) -> None:
    """Raises Invalid unless both texts are printable and not too long."""
    for what, text in ("source", source), ("subject", subject):
        if not 0 < len(text) <= _TEXT_MAX or not text.isprintable():
            raise Invalid(
                f"{text[:40]!r} cannot be the {what} of an identity",
                hint=f"it has 1 to {_TEXT_MAX} characters that can be printed",
            )


async def link_identity(
    access: OpenAccess, user: str, source: str, subject: str, *, actor: Actor, key: str = ""
) -> LinkedIdentity:
    """Links the identity to the user: people who sign in with it are this user from then on. Raises Invalid, NotFound
    or AlreadyExists."""
    check_identity(source, subject)
    event = IdentityLinked(source, subject, user)
    await access.submit(actor, lambda state: [event], "link-identity", user, source, subject, key=key)
    return access.folded().need_identity(source, subject)


async def unlink_identity(
    access: OpenAccess, user: str, source: str, subject: str, *, actor: Actor, key: str = ""
) -> None:
    """Unlinks the identity. The user stays. The sessions that the identity opened have ended when this returns. Raises
    NotFound."""
    event = IdentityUnlinked(source, subject)

    def decide(state: AccessState) -> Sequence[Event]:
        if state.need_identity(source, subject).user != user:
            raise NotFound(f"the identity {subject!r} of {source!r} is not user {user!r}'s", hint=_LISTED)
        return [event]

    await access.submit(actor, decide, "unlink-identity", user, source, subject, key=key, takes_away=True)
