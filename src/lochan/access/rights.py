"""What one user's policies come to, made ready for being asked often: every request of the server asks at least once.

Per action, the resources that are denied and those that are allowed, each one regular expression. They are made when an
action is first asked about, and thrown away when anything about access changes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lochan.access import resources
from lochan.access.conditions import evaluate_conditions
from lochan.access.policy import check_action, fits_action
from lochan.access.state import AccessPolicy, AccessState
from lochan.errors import Refused
from lochan.formats.lake_events import Statement

if TYPE_CHECKING:
    import pyarrow as pa


LIST, READ = "fs:ListObjects", "fs:ReadObject"
Fits = Callable[[str], object]  # a resource; true or false


class _Of(NamedTuple):
    """For one action; None: none are."""

    denied: Fits | None
    allowed: Fits | None


class Rights:
    """`held` says, for each statement that has conditions, whether it counts. `limits` are those of an access key and
    of a session: of each of them, one pattern must fit, whatever policies allow."""

    __slots__ = ("_below", "_limits", "_of", "_statements", "_within")

    def __init__(
        self,
        policies: Sequence[AccessPolicy],
        held: Sequence[bool] = (),
        limits: Sequence[Sequence[str]] = (),
    ) -> None:
        self._statements = list(_effective_statements(policies, held))
        self._limits = limits
        self._within = [fits for each in limits if (fits := _one(each) or _nothing) is not _everything]
        self._of: dict[str, _Of] = {}
        self._below: dict[tuple[str, ...], bool | None] = {}

    def allow(self, action: str, resource: str) -> bool:
        """Deny wins; where nothing fits, it is denied. Raises Invalid for an action that there is not."""
        of = self._of.get(action) or self._compile(action)
        if of.allowed is None or (of.denied is not None and of.denied(resource)):
            return False
        if self._within and not all(fits(resource) for fits in self._within):
            return False
        return bool(of.allowed(resource))

    def allow_everything(self) -> bool:
        """Every action on every resource, nothing is denied, and no limit narrows it."""
        has_all = any("*" in each.actions and "*" in each.resources for each in self._statements)
        return has_all and all(map(allows, self._statements)) and not self._within

    def allow_each(self, action: str, on: "pa.Array") -> "pa.Array":
        """`allow` of very many resources, by columns."""
        import pyarrow.compute as pc

        denied, allowed = self._patterns(action)
        found = pc.and_not(_each(allowed, on), _each(denied, on))
        for limit in self._limits:
            found = pc.and_(found, _each(limit, on))
        return found

    def deny_each(self, action: str, on: "pa.Array") -> "pa.Array":
        """Which of them a statement denies, whatever is allowed."""
        return _each(self._patterns(action)[0], on)

    def allow_below(self, action: str, front: str) -> bool | None:
        """Tells whether all objects whose resources begin with `front` are allowed (True), whatever their names, or
        none are (False). None: it depends on the object. It is quick, so that users who may read everything pay nothing
        for the limits of others."""
        return self._kept((action, front), self._worked_out)

    def denies_below(self, action: str, front: str) -> bool:
        """Whether a statement may deny some of them."""
        return bool(self._kept((action, front, "denied"), self._may_deny))

    def _kept(self, key: tuple[str, ...], work_out: Callable[[str, str], bool | None]) -> bool | None:
        if key not in self._below:
            if len(self._below) >= _BELOW_MAX:
                self._below.clear()
            self._below[key] = work_out(key[0], key[1])
        return self._below[key]

    def _may_deny(self, action: str, front: str) -> bool:
        return any(_may_meet(each, front) for each in self._patterns(action)[0])

    def _worked_out(self, action: str, front: str) -> bool | None:
        denied, allowed = self._patterns(action)
        if any(_covers(each, front) for each in denied) or not any(_may_meet(each, front) for each in allowed):
            return False
        if any(not any(_may_meet(each, front) for each in limit) for limit in self._limits):
            return False
        inside = all(any(_covers(each, front) for each in limit) for limit in self._limits)
        allows_all = any(_covers(each, front) for each in allowed)
        return True if inside and allows_all and not any(_may_meet(each, front) for each in denied) else None

    def _compile(self, action: str) -> _Of:
        denied, allowed = self._patterns(action)
        of = self._of[action] = _Of(_one(denied), _one(allowed))
        return of

    def _patterns(self, action: str) -> tuple[list[str], list[str]]:
        """Patterns of resources: denied ones, and allowed ones."""
        check_action(action)
        denied: list[str] = []
        allowed: list[str] = []
        for statement in self._statements:
            if any(fits_action(pattern, action) for pattern in statement.actions):
                (allowed if allows(statement) else denied).extend(statement.resources)
        return denied, allowed


def _effective_statements(policies: Sequence[AccessPolicy], held: Sequence[bool]) -> Iterator[Statement]:
    """One with conditions that nobody has looked at counts if it denies."""
    which = iter(held)
    for policy in policies:
        for statement in policy.statements:
            if statement.conditions is None or next(which, not allows(statement)):
                yield statement


_WILD = re.compile(r"[*?]")
_BELOW_MAX = 1_000


def allows(statement: Statement) -> bool:
    """What does not say so denies."""
    return statement.effect == "allow"


def _covers(pattern: str, front: str) -> bool:
    """Whether it fits whatever begins so: a star at the end takes in the rest of a path, slashes too."""
    return pattern == "*" or (
        pattern.endswith("*") and re.fullmatch(resources.regex(pattern), front, re.DOTALL) is not None
    )


def _may_meet(pattern: str, front: str) -> bool:
    """Whether it might fit something that begins so. By what stands in front of its first wildcard; so it may say yes
    for nothing."""
    head = _WILD.split(pattern, maxsplit=1)[0]
    fronts = (front, resources.at_any_ref(front))
    return any(head.startswith(each) or each.startswith(head) for each in fronts)


def _one(patterns: Sequence[str]) -> Fits | None:
    if not patterns:
        return None
    if "*" in patterns:
        return _everything
    return re.compile("|".join(f"(?:{resources.regex(each)})" for each in dict.fromkeys(patterns)), re.DOTALL).fullmatch


def _each(patterns: Sequence[str], on: "pa.Array") -> "pa.Array":
    """For RE2, which takes no longer for many stars than for few, and has no atomic groups."""
    import pyarrow.compute as pc

    if not patterns:
        return pc.is_null(on)  # a resource never is
    whole = "|".join(resources.regex(each).replace("(?>", "(?:") for each in dict.fromkeys(patterns))
    return pc.match_substring_regex(on, rf"(?s)\A(?:{whole})\z")


def _everything(resource: str) -> bool:
    return True


def _nothing(resource: str) -> bool:
    return False


NOTHING = Rights(())


class VisibleObjects:
    """Which objects of one ref a list shows to one user: those that they may read, and that nothing forbids them to
    list. Size, ETag and the very name of an object tell something about it, so what is denied is left out of lists, and
    so is a folder that holds nothing else."""

    def __init__(self, rights: Rights, ref: str) -> None:
        """`ref` is the resource of a branch, a tag or a commit. REQUIRES: used before the next await, or with rights
        that were new enough for the request (A1)."""
        self.rights = rights
        self._ref = ref

    def below(self, prefix: str) -> bool | None:
        """For all paths with this prefix: True if all are shown, False if none is, None if it depends on the path."""
        front = resources.object_at(self._ref, prefix)
        readable = self.rights.allow_below(READ, front)
        return None if readable and self.rights.denies_below(LIST, front) else readable

    def each(self, paths: "pa.Array | pa.ChunkedArray") -> "pa.Array | pa.ChunkedArray":
        """For each path, whether it is shown."""
        import pyarrow.compute as pc

        on = pc.binary_join_element_wise(resources.object_at(self._ref, ""), paths, "")
        return pc.and_not(self.rights.allow_each(READ, on), self.rights.deny_each(LIST, on))


class Denied(Refused):
    """No policy of the user allows it, or one denies it. The message is the same if nothing has that name."""


class RightsDecision(NamedTuple):
    allowed: bool
    policy: str  # that decided; "" where nothing fits
    number: int  # of the statement in it, from 1 on
    statement: Statement | None
    fits: tuple[str, str] = ("", "")  # its first action and its first resource that do


def explain(
    access: AccessState, user: str, action: str, resource: str, *, address: str = "", now: int = 0
) -> RightsDecision:
    """`Rights.allow`, with the statement that decided: the first that denies, else the first that allows. Raises
    NotFound if there is no such user, Invalid for what is no action."""
    check_action(action)
    found = RightsDecision(False, "", 0, None)
    policies = access.all_policies_of(access.user(user).name)
    which = iter(evaluate_conditions(policies, address, now))
    for policy in policies:
        for number, statement in enumerate(policy.statements, 1):
            if statement.conditions is not None and not next(which):
                continue
            fits = _fitting(statement, action, resource)
            if fits is not None and not allows(statement):
                return RightsDecision(False, policy.name, number, statement, fits)
            if fits is not None and not found.allowed:
                found = RightsDecision(True, policy.name, number, statement, fits)
    return found


def _fitting(statement: Statement, action: str, resource: str) -> tuple[str, str] | None:
    actions = (each for each in statement.actions if fits_action(each, action))
    on = (each for each in statement.resources if re.fullmatch(resources.regex(each), resource, re.DOTALL))
    both = next(actions, None), next(on, None)
    return None if both[0] is None or both[1] is None else (both[0], both[1])
