"""What a ref expression names, in the refs of one moment: a branch, else a tag, else a unique prefix of a commit id."""

from typing import NamedTuple

from lochan.errors import Invalid, NotFound
from lochan.formats.commit import Commit
from lochan.versioning.expression import parse
from lochan.versioning.refs import Branch, Refs

_PREFIX_MIN = 4


class Resolved(NamedTuple):
    commit_id: str
    commit: Commit
    branch: Branch | None  # if it names a branch itself, and not something behind it
    committed_only: bool = False


def resolve(refs: Refs, text: str) -> Resolved:
    """Raises NotFound for what is not there, Invalid for what is no ref or names several commits."""
    expression = parse(text)
    if expression.time is not None:
        raise Invalid(f"{text!r}: refs of an earlier time cannot be looked up yet", hint="name the commit by its id")
    branch = refs.find_branch(expression.name)
    id = branch.head if branch else refs.find_tag(expression.name) or _by_prefix(refs, expression.name)
    if expression.only and branch is None:
        raise Invalid(f"{text!r}: only a branch has something staged")
    for step, count in expression.steps:
        id = _step(refs, id, step, count, text)
    plain = branch is not None and not expression.steps
    return Resolved(id, refs.commit(id), branch if plain else None, expression.only == "@")


def _by_prefix(refs: Refs, name: str) -> str:
    found = refs.commits_with(name) if len(name) >= _PREFIX_MIN else []
    if not found:
        raise NotFound(
            f"no branch, tag or commit {name!r}", hint="`lochan branch list` and `lochan log` show what is there"
        )
    if len(found) > 1:
        raise Invalid(f"{name!r} is the beginning of {len(found)} commits", hint="give more digits")
    return found[0]


def _step(refs: Refs, id: str, step: str, count: int, text: str) -> str:
    if step == "^" and count > 1:
        parents = refs.commit(id).parents
        if len(parents) < count:
            raise NotFound(f"{text!r}: commit {id[:12]} has {len(parents)} parents")
        return parents[count - 1]
    for _ in range(count):
        parents = refs.commit(id).parents
        if not parents:
            raise NotFound(f"{text!r} goes back beyond the first commit")
        id = parents[0]
    return id
