"""What the policies of one user allow, compiled for frequent checks: every request of the server makes at least one.

For each action there are two regular expressions: the resources that are denied, and those that are allowed. They are
compiled when an action is first checked, and dropped when anything about access changes."""

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
    """What is denied and allowed for one action. None means no resource."""

    denied: Fits | None
    allowed: Fits | None


class Rights:
    """What a user may do. `held` has, for each statement with conditions, whether it applies. `limits` are those of an
    access key and of a session: one pattern of each must match, whatever policies allow."""

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
        """Returns whether the action is allowed. A deny wins, and what no statement matches is denied. Raises Invalid
        if there is no such action."""
        of = self._of.get(action) or self._compile(action)
        if of.allowed is None or (of.denied is not None and of.denied(resource)):
            return False
        if self._within and not all(fits(resource) for fits in self._within):
            return False
        return bool(of.allowed(resource))

    def allow_everything(self) -> bool:
        """Returns whether every action is allowed on every resource, nothing is denied, and no limit applies."""
        has_all = any("*" in each.actions and "*" in each.resources for each in self._statements)
        return has_all and all(map(allows, self._statements)) and not self._within

    def allow_each(self, action: str, on: "pa.Array") -> "pa.Array":
        """Returns `allow` for each of many resources, computed by columns."""
        import pyarrow.compute as pc

        denied, allowed = self._patterns(action)
        found = pc.and_not(_each(allowed, on), _each(denied, on))
        for limit in self._limits:
            found = pc.and_(found, _each(limit, on))
        return found

    def deny_each(self, action: str, on: "pa.Array") -> "pa.Array":
        """Returns which of them a statement denies, whatever is allowed."""
        return _each(self._patterns(action)[0], on)

    def allow_below(self, action: str, front: str) -> bool | None:
        """Returns True if all objects whose resources begin with `front` are allowed, whatever their names, False if
        none are, and None if it depends on the object. It is quick, so that users who may read everything pay nothing
        for the limits of others."""
        return self._kept((action, front), self._worked_out)

    def denies_below(self, action: str, front: str) -> bool:
        """Returns whether a statement may deny some of them."""
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
        """Returns the patterns of denied resources, and those of allowed ones."""
        check_action(action)
        denied: list[str] = []
        allowed: list[str] = []
        for statement in self._statements:
            if any(fits_action(pattern, action) for pattern in statement.actions):
                (allowed if allows(statement) else denied).extend(statement.resources)
        return denied, allowed


def _effective_statements(policies: Sequence[AccessPolicy], held: Sequence[bool]) -> Iterator[Statement]:
    """Yields the statements that apply. A statement whose conditions were not evaluated applies if it denies."""
    which = iter(held)
    for policy in policies:
        for statement in policy.statements:
            if statement.conditions is None or next(which, not allows(statement)):
                yield statement


_WILD = re.compile(r"[*?]")
_BELOW_MAX = 1_000


def allows(statement: Statement) -> bool:
    """Returns whether the statement allows. Every other effect denies."""
    return statement.effect == "allow"


def _covers(pattern: str, front: str) -> bool:
    """Returns whether the pattern matches every resource that begins with `front`: a star at the end matches the rest
    of a path, with slashes."""
    return pattern == "*" or (
        pattern.endswith("*") and re.fullmatch(resources.regex(pattern), front, re.DOTALL) is not None
    )


def _may_meet(pattern: str, front: str) -> bool:
    """Returns whether the pattern might match a resource that begins with `front`. It compares only the text before the
    first wildcard, so it may return True although nothing matches."""
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
    """Returns which resources match one of the patterns. The expression is for RE2, which is as quick with many stars
    as with few, and has no atomic groups."""
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
    """Which objects of one ref a list shows to one user: those that the user may read and is not forbidden to list. The
    size, the ETag and even the name of an object reveal something about it, so denied objects are left out of lists,
    and so are folders that hold nothing else."""

    def __init__(self, rights: Rights, ref: str) -> None:
        """`ref` is the resource of a branch, a tag or a commit. REQUIRES: the object is used before the next await, or
        with rights that were fresh enough for the request (A1)."""
        self.rights = rights
        self._ref = ref

    def below(self, prefix: str) -> bool | None:
        """Returns True if all paths with this prefix are shown, False if none is, and None if it depends on the
        path."""
        front = resources.object_at(self._ref, prefix)
        readable = self.rights.allow_below(READ, front)
        return None if readable and self.rights.denies_below(LIST, front) else readable

    def each(self, paths: "pa.Array | pa.ChunkedArray") -> "pa.Array | pa.ChunkedArray":
        """Returns for each path whether it is shown."""
        import pyarrow.compute as pc

        on = pc.binary_join_element_wise(resources.object_at(self._ref, ""), paths, "")
        return pc.and_not(self.rights.allow_each(READ, on), self.rights.deny_each(LIST, on))


class Denied(Refused):
    """No policy of the user allows the action, or one denies it. The message is the same if no such thing exists."""


class RightsDecision(NamedTuple):
    allowed: bool
    policy: str  # that decided; "" where nothing fits
    number: int  # of the statement in it, from 1 on
    statement: Statement | None
    fits: tuple[str, str] = ("", "")  # its first action and its first resource that do


def explain(
    access: AccessState, user: str, action: str, resource: str, *, address: str = "", now: int = 0
) -> RightsDecision:
    """Returns what `Rights.allow` would decide, with the statement that decides: the first that denies, else the first
    that allows. Raises NotFound if there is no such user, and Invalid if there is no such action."""
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
