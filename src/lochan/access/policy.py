"""What the statements of a policy can contain, the actions that they name, and the policies that every lake has."""

import re
from collections.abc import Mapping, Sequence

from lochan.access import resources
from lochan.access.resources import wildcard_regex
from lochan.errors import Invalid
from lochan.formats.lake_events import Statement

# All actions. A route of the server names one of these, and a policy allows or denies them. The list is closed: an
# unknown name is a mistake, in a policy as in the code. The resource of each action is written as in `resources.py`.


REPOSITORY = "repository/NAME"
BRANCH = "repository/NAME/branch/BRANCH"
REF = "repository/NAME/branch/BRANCH, …/tag/TAG or …/commit/ID"
TAG = "repository/NAME/tag/TAG"
OBJECT = "repository/NAME/branch/BRANCH/object/PATH"
OBJECT_AT = f"{OBJECT}, …/tag/TAG/object/PATH or …/commit/ID/object/PATH"
USER = "user/NAME"
GROUP = "group/NAME"
POLICY = "policy/NAME"
BOTH = "policy/NAME, and user/NAME or group/NAME too"
MEMBER = "group/NAME, and user/NAME too"
LAKE = "lake"

# action: (its resource, what it allows)
ACTIONS: Mapping[str, tuple[str, str]] = {
    "fs:ListRepositories": (REPOSITORY, "see that the repository is there; a list shows those that it is allowed for"),
    "fs:CreateRepository": (REPOSITORY, "create it"),
    "fs:AttachStorage": (REPOSITORY, "create it with a storage of its own"),
    "fs:ReadRepository": (REPOSITORY, "read its settings and metadata; HEAD of a bucket"),
    "fs:UpdateRepository": (REPOSITORY, "change its settings; make it read-only"),
    "fs:DeleteRepository": (REPOSITORY, "delete it"),
    "fs:ProtectBranch": (REPOSITORY, "set and lift the protection of branches"),
    "fs:ReadEvents": (REPOSITORY, "read its journal: who did what, from where"),
    "fs:SetRetention": (REPOSITORY, "say how long what is kept"),
    "fs:CollectGarbage": (REPOSITORY, "remove what nothing names any more"),
    "fs:ListBranches": (REPOSITORY, "list its branches"),
    "fs:ReadBranch": (BRANCH, "read its head, and what is staged on it"),
    "fs:CreateBranch": (BRANCH, "create or restore it; the new name of a rename"),
    "fs:DeleteBranch": (BRANCH, "delete it; the old name of a rename"),
    "fs:ResetBranch": (BRANCH, "drop what is staged, move it to another commit, rebase it"),
    "fs:StashChanges": (BRANCH, "put staged changes aside, take them up again, drop them"),
    "fs:CreateCommit": (BRANCH, "commit what is staged"),
    "fs:MergeBranch": (BRANCH, "merge into it; fs:ReadCommit is asked of the source"),
    "fs:RevertCommit": (BRANCH, "revert or cherry-pick on it"),
    "fs:Import": (BRANCH, "import or link files from outside, which are read with the server's own credentials"),
    "fs:ReadWorkspace": (BRANCH, "list and read its workspaces"),
    "fs:CreateWorkspace": (BRANCH, "open a workspace on it, and drop one"),
    "fs:ReadPullRequest": (BRANCH, "see pull requests into it; fs:ReadBranch is asked of the source"),
    "fs:WritePullRequest": (BRANCH, "open, edit, close and reopen pull requests into it, and comment on them"),
    "fs:ReviewPullRequest": (BRANCH, "approve pull requests into it, or ask for changes"),
    "fs:DismissReview": (BRANCH, "dismiss what others said about pull requests into it"),
    "fs:ReportCheck": (BRANCH, "report checks of pull requests into it"),
    "fs:ListTags": (REPOSITORY, "list its tags"),
    "fs:ReadTag": (TAG, "read which commit it names"),
    "fs:CreateTag": (TAG, "create it"),
    "fs:DeleteTag": (TAG, "delete it"),
    "fs:ReadCommit": (REF, "read a commit, the log, differences and blame"),
    "fs:ListObjects": (OBJECT_AT, "list; PATH is the prefix that is listed"),
    "fs:ReadObject": (OBJECT_AT, "read its bytes and metadata"),
    "fs:WriteObject": (OBJECT, "write it; the target of a copy"),
    "fs:DeleteObject": (OBJECT, "delete it; the old path of a move"),
    "auth:ListUsers": (USER, "see that the user is there"),
    "auth:ReadUser": (USER, "read about it: its policies, the ids of its keys"),
    "auth:CreateUser": (USER, "create it"),
    "auth:DeleteUser": (USER, "delete it"),
    "auth:DisableUser": (USER, "disable it, and take that back"),
    "auth:CreateKey": (USER, "create an access key for it, or one in place of another"),
    "auth:CreateToken": (USER, "create short-lived credentials of one of its access keys"),
    "auth:RevokeKey": (USER, "revoke one of its access keys"),
    "auth:EndSession": (USER, "end one of its sessions; everybody may end their own"),
    "auth:LinkIdentity": (USER, "say which identity of another service signs in as it"),
    "auth:ListGroups": (GROUP, "see that the group is there"),
    "auth:ReadGroup": (GROUP, "read about it: its policies, its members"),
    "auth:CreateGroup": (GROUP, "create it"),
    "auth:DeleteGroup": (GROUP, "delete it"),
    "auth:AddMember": (MEMBER, "add the user to the group"),
    "auth:RemoveMember": (MEMBER, "remove the user from the group"),
    "auth:ListPolicies": (POLICY, "see that the policy is there"),
    "auth:ReadPolicy": (POLICY, "read its statements"),
    "auth:PutPolicy": (POLICY, "create or replace it"),
    "auth:DeletePolicy": (POLICY, "delete it"),
    "auth:AttachPolicy": (BOTH, "attach it"),
    "auth:DetachPolicy": (BOTH, "detach it"),
    "lake:ReadEvents": (LAKE, "read the lake's own journal"),
    "lake:ReadSettings": (LAKE, "read the server's configuration, its secrets masked"),
    "lake:ManageQueries": (LAKE, "see the queries of others that run on the server, and cancel them"),
    "lake:ManageEvents": (LAKE, "see the subscriptions of others, delete them, and have letters sent again"),
    "lake:ManageUsage": (LAKE, "see what the usage log covers, compact it, and delete its old days"),
    "lake:ReadMetrics": (LAKE, "read what the server measures of itself"),
    "lake:Maintain": (LAKE, "check the lake's files, make them again, and copy the whole lake"),
}

READING = (
    "fs:ListRepositories",
    "fs:ReadRepository",
    "fs:ListBranches",
    "fs:ReadBranch",
    "fs:ListTags",
    "fs:ReadTag",
    "fs:ReadCommit",
    "fs:ListObjects",
    "fs:ReadObject",
    "fs:ReadWorkspace",
    "fs:ReadPullRequest",
)
WRITING = (
    "fs:CreateBranch",
    "fs:DeleteBranch",
    "fs:ResetBranch",
    "fs:StashChanges",
    "fs:CreateCommit",
    "fs:MergeBranch",
    "fs:RevertCommit",
    "fs:CreateWorkspace",
    "fs:CreateTag",
    "fs:DeleteTag",
    "fs:WriteObject",
    "fs:DeleteObject",
    "fs:ReadEvents",
    "fs:WritePullRequest",
    "fs:ReviewPullRequest",
)


EFFECTS = ("allow", "deny")
STATEMENTS_MAX = 200
PATTERNS_MAX = 200  # in one statement
PATTERN_LENGTH_MAX = 2_048  # a path has 1,024 bytes at most
LENGTH_MAX = 1 << 18  # of all patterns together: a policy is one event, and stays in memory


def check_statements(statements: Sequence[Statement]) -> None:
    """Raises Invalid, naming the statement and what is wrong with it."""
    if not statements:
        raise Invalid("a policy needs a statement", hint="one that allows or denies some actions on some resources")
    if len(statements) > STATEMENTS_MAX:
        raise Invalid(f"a policy has at most {STATEMENTS_MAX} statements, not {len(statements)}")
    if sum(len(pattern) for each in statements for pattern in (*each.actions, *each.resources)) > LENGTH_MAX:
        raise Invalid(f"the policy is longer than {LENGTH_MAX} characters", hint="use wildcards, or several policies")
    for number, statement in enumerate(statements, 1):
        try:
            _check(statement)
        except Invalid as error:
            raise Invalid(f"statement {number}: {error.message}", hint=error.hint) from None


def check_action(name: str) -> None:
    if name not in ACTIONS:
        raise Invalid(f"there is no action {name!r}{_did_you_mean(name)}", hint=_LISTED)


def fits_action(pattern: str, action: str) -> bool:
    return pattern == action or re.fullmatch(wildcard_regex(pattern), action) is not None


def _check(statement: Statement) -> None:
    if statement.effect not in EFFECTS:
        raise Invalid(f"{statement.effect!r} is not an effect", hint=f"take one of {', '.join(EFFECTS)}")
    _check_count("actions", statement.actions)
    _check_count("resources", statement.resources)
    for pattern in statement.actions:
        _check_action_pattern(pattern)
    for pattern in statement.resources:
        resources.check_pattern(pattern)


def _check_action_pattern(pattern: str) -> None:
    if not any(letter in pattern for letter in "*?"):
        check_action(pattern)
    elif not any(fits_action(pattern, action) for action in ACTIONS):
        raise Invalid(f"no action fits {pattern!r}{_did_you_mean(pattern)}", hint=_LISTED)


def _check_count(what: str, patterns: Sequence[str]) -> None:
    if not patterns:
        raise Invalid(f"it names no {what}")
    if len(patterns) > PATTERNS_MAX:
        raise Invalid(
            f"it names {len(patterns)} {what}; {PATTERNS_MAX} is the most", hint="use wildcards, or more statements"
        )
    for pattern in patterns:
        if len(pattern) > PATTERN_LENGTH_MAX:
            raise Invalid(f"one of its {what} is longer than {PATTERN_LENGTH_MAX} characters: {pattern[:40]!r}…")


def _did_you_mean(name: str) -> str:
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name, list(ACTIONS), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


_LISTED = "`lochan auth actions` lists them"

ADMIN = "Admin"

# The policies that every lake has from the beginning; they cannot be changed. They are part of the fold: their names
# are taken in every lake there is, so a fourth one would need a new event.
BUILT_IN: Mapping[str, tuple[Statement, ...]] = {
    ADMIN: (Statement("allow", ("*",), ("*",)),),
    "Developer": (Statement("allow", READING + WRITING, ("repository/*",)),),
    "Analyst": (Statement("allow", READING, ("repository/*",)),),
}
