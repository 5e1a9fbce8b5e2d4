"""The cells of the matrix: which there are, what each should come to, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.integration.matrix.places import HOME, NO_BRANCH, NO_REPOSITORY, SCOPES, Scope, place
from tests.integration.matrix.requests import Request, operations
from tests.integration.matrix.roles import OUTSIDE, ROLES, May, Place, Role, all_but
from tests.integration.matrix.wire import Answer, Transport, ask
from tests.integration.matrix.world import World

OPEN, SIGNED_IN = "open", "signed-in"
YES, NO, HIDDEN, OUT, PROTECTED, READ_ONLY = "allowed", "denied", "hidden", "not let in", "protected", "read-only"


class Needed(NamedTuple):
    action: str
    place: str


class Rule(NamedTuple):
    needs: tuple[Needed, ...] = ()
    shows: tuple[Needed, ...] = ()
    word: str = ""  # open, or signed-in


class Cell(NamedTuple):
    operation: str
    role: str
    scope: Scope


class Wrong(NamedTuple):
    cell: Cell
    expected: Sequence[str]
    found: str
    answer: Answer


@cache
def expected_rules() -> Mapping[str, Rule]:
    """By operation, from the file."""
    text = (Path(__file__).parent / "expected.txt").read_text()
    found: dict[str, Rule] = {}
    for paragraph in text.split("\n\n")[1:]:
        lines = [line for line in paragraph.splitlines() if line.strip() and not line.startswith("---")]
        rule = _rule([line for line in lines if not line.startswith(" ")])
        for name in " ".join(line for line in lines if line.startswith(" ")).split():
            assert name not in found, f"{name} is there twice"
            found[name] = rule
    return found


def _rule(heads: list[str]) -> Rule:
    if heads in ([OPEN], [SIGNED_IN]):
        return Rule(word=heads[0])
    shown = [each for line in heads if line.startswith("shows ") for each in line.removeprefix("shows ").split(" + ")]
    needs = [line for line in heads if not line.startswith("shows ")]
    return Rule(tuple(Needed(*each.split()) for each in needs), tuple(Needed(*each.split()) for each in shown))


def but(needed: Needed) -> str:
    return f"all but {needed.action} at {needed.place}"


# The users who may do everything but what one line of the file names, at home.
BUT: Mapping[str, Role] = {
    but(each): all_but(each.action, place(each.place, HOME))
    for rule in expected_rules().values()
    for each in (*rule.needs, *rule.shows)
}


@cache
def request(operation: str) -> Request:
    return Request(operation)


def cells(names: Sequence[str] = ()) -> Iterator[Cell]:
    for operation in names or operations():
        rule, asked = expected_rules()[operation], request(operation)
        scopes = SCOPES[asked.level]
        for needed in (*rule.needs, *rule.shows):
            yield from _playable(operation, but(needed), scopes[:1])
        for role in ROLES:
            wanted = PLAYED_AT.get(role, "home").split()
            yield from _playable(operation, role, [each for each in scopes if each.name in wanted])
        for role in OUTSIDE:
            yield from _playable(operation, role, scopes[:1])


def _playable(operation: str, role: str, scopes: Sequence[Scope]) -> Iterator[Cell]:
    """Without those that would destroy what other cells need."""
    for scope in scopes:
        cell = Cell(operation, role, scope)
        done = {YES} & set(expected(cell))
        if not (request(operation).final and done and not scope.absent):
            yield cell


def _may(role: str) -> May:
    """Of a role, or of the user who may do everything but one action at one place."""
    return ROLES[role].may if role in ROLES else BUT[role].may


# Where each role is played; those that come to the same as others by other ways, at home alone.
PLAYED_AT = {
    "admin": "home frozen locked no-branch",
    "developer": "home locked",
    "analyst": "home tag",
    "nobody": "home no-repository no-branch",
    "owner": "home other",
    "dev-only": "home dev",
    "all-but-dev": "home dev",
    "folder": "home secret tag",
    "all-but-secrets": "home secret",
    "limited-key": "home dev",
    "session": "home secret",
}
_NOT_LET_IN = (b"the request is anonymous", b"the access key or its secret is wrong", b"too many wrong secrets")


def names_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a protected branch refuses to those who may, and a read-only repository.
BLOCKED = names_of(
    """uploadObject copyObject updateObjectUserMetadata createPresignMultipartUpload deleteObject deleteObjects commit
    deleteBranch hardResetBranch mergeIntoBranch
    WritableRef.put WritableRef.copy WritableRef.copy_folder WritableRef.create_upload WritableRef.delete
    WritableRef.delete_folder Branch.commit Branch.merge Branch.rebase Branch.rename
    Repository.delete_branch
    S3.PostObject S3.CopyObject S3.PutObject S3.CreateMultipartUpload S3.DeleteObject S3.DeleteObjects"""
)
# Of these, some cells have nothing left to change, which is said first.
PERHAPS_BLOCKED = names_of(
    """revertBranch cherryPick Branch.revert Branch.cherry_pick Branch.revert+staged Branch.cherry_pick+staged
    Branch.merge+staged Branch.reset+to"""
)
FROZEN = names_of(
    """setGcRules deleteGcRules createBranch createTag deleteTag commit uploadObject copyObject updateObjectUserMetadata
    createPullRequest updatePullRequest getPhysicalAddress createPresignMultipartUpload putPart deleteObject
    deleteObjects uploadPartCopy createPoolBranch revertPoolCommit
    Repository.create_branch Repository.create_tag Repository.delete_tag Repository.protect Repository.create_pull
    GarbageCollection.set_rules WritableRef.put WritableRef.copy WritableRef.copy_folder WritableRef.create_upload
    WritableRef.delete WritableRef.delete_folder
    Branch.commit Branch.address Branch.workspace Workspace.add Workspace.all Workspace.revert
    PullRequest.update PullRequest.reopen PullRequest.review PullRequest.dismiss_review PullRequest.comment
    PullRequest.edit_comment PullRequest.resolve_thread PullRequest.check Upload.put_part Upload.copy_part
    S3.PostObject S3.UploadPartCopy S3.UploadPart S3.CopyObject S3.PutObject S3.CreateMultipartUpload
    S3.DeleteObject S3.DeleteObjects"""
)
MAYBE = ("from-:joblog", "from-:usage", "from-:lineage", "Lake.subscriptions")  # have rows when the time has come


def expected(cell: Cell) -> tuple[str, ...]:
    """What is right; more than one where the names of what does not exist are told to some."""
    rule, scope = expected_rules()[cell.operation], cell.scope
    if rule.word == OPEN:
        return (YES,)
    if cell.role in OUTSIDE:
        return (OUT,)
    if rule.word == SIGNED_IN:
        return (NO,) if cell.operation == "createToken" and cell.role == "session" else (YES,)
    may = _may(cell.role)

    def allows(needed: Sequence[Needed]) -> bool:
        return all(may(each.action, place(each.place, scope)) for each in needed)

    allowed, shown = allows(rule.needs), allows(rule.shows)
    if scope is NO_REPOSITORY and rule.needs:
        knows = may("fs:ListRepositories", Place(scope.repository))
        return (YES, HIDDEN, NO) if knows else ((YES, HIDDEN) if allowed else (NO,))
    if not allowed and scope is NO_BRANCH and allows([each for each in rule.needs if "source" not in each.place]):
        return (NO, YES)  # who may write the one may know that it is not there
    if not allowed:
        return (NO,)
    if cell.operation in MAYBE:
        return (YES, HIDDEN) if shown else (HIDDEN,)
    if rule.shows:
        return (YES,) if shown and not scope.absent else (HIDDEN,)
    if scope.name == "locked" and cell.operation in BLOCKED:
        return (PROTECTED,)
    if scope.name == "locked" and cell.operation in PERHAPS_BLOCKED:
        return (PROTECTED, YES)
    if scope.name == "frozen" and cell.operation in FROZEN:
        return (READ_ONLY,)
    return (YES,)


# Plain requests that the gateway has a fast path for; one with a query that says nothing takes the general one.
TWO_WAYS = ("S3.GetObject", "S3.HeadObject", "S3.PutObject")


def play(transport: Transport, world: World, cell: Cell) -> tuple[Answer, str]:
    return _played(transport, world, cell, "")


def play_the_general_way(transport: Transport, world: World, cell: Cell) -> tuple[Answer, str]:
    return _played(transport, world, cell, f"x-id={cell.operation.removeprefix('S3.')}")


def _played(transport: Transport, world: World, cell: Cell, query: str) -> tuple[Answer, str]:
    sent = request(cell.operation).at(cell.scope, world.made)
    answer = ask(transport, sent._replace(query=query) if query else sent, world.people[cell.role])
    return answer, verdict(cell, answer, world)


def verdict(cell: Cell, answer: Answer, world: World) -> str:
    asked, s3 = request(cell.operation), cell.operation.startswith("S3.")
    marker = asked.marker and asked.fill_marker(cell.scope, world.made)
    shown = bool(marker) and marker.encode() in answer.body
    if answer.status >= 500:
        return f"status {answer.status}"
    if expected_rules()[cell.operation].word == OPEN:
        return OUT if b"the request is anonymous" in answer.body else YES
    if b"is protected" in answer.body:
        return PROTECTED
    if b"repository is read-only" in answer.body:
        return READ_ONLY
    refused = answer.status == 403 if s3 else answer.status == 401
    if any(words in answer.body for words in _REFUSED_INSIDE.get(cell.operation, ())):
        refused = True
    if refused and shown:
        return "denied, but shown"
    if cell.role in OUTSIDE:
        turned_away = refused if s3 else any(words in answer.body for words in _NOT_LET_IN)
        return OUT if turned_away else "let in"
    if refused:
        return NO
    if answer.status in (401, 403):
        return f"status {answer.status}"
    if expected_rules()[cell.operation].shows:
        return YES if shown else HIDDEN
    if marker and not cell.scope.absent and not shown:
        return HIDDEN
    return YES


# Operations that answer for each object, or in other words.
_REFUSED_INSIDE = {
    "S3.DeleteObjects": (b"<Code>AccessDenied</Code>",),
    "deleteObjects": (b'"status_code":401',),
    "createToken": (b"a session cannot make credentials",),
}
