"""Every action there is. A route of the server names one of these; a policy allows or denies them.

The list is closed: a name that is not in it is a mistake, in a policy as in the code. What each one is asked about, its
resource, is written as in `resources.py`.
"""

from collections.abc import Mapping

REPOSITORY = "repository/NAME"
BRANCH = "repository/NAME/branch/BRANCH"
REF = "repository/NAME/branch/BRANCH, …/tag/TAG or …/commit/ID"
TAG = "repository/NAME/tag/TAG"
OBJECT = "repository/NAME/branch/BRANCH/object/PATH"
OBJECT_AT = f"{OBJECT}, …/tag/TAG/object/PATH or …/commit/ID/object/PATH"
USER = "user/NAME"
POLICY = "policy/NAME"
BOTH = "policy/NAME, and user/NAME too"
LAKE = "lake"

# action: (what it is asked about, what it is)
ACTIONS: Mapping[str, tuple[str, str]] = {
    "fs:ListRepositories": (REPOSITORY, "see that the repository is there; a list shows those that it is allowed for"),
    "fs:CreateRepository": (REPOSITORY, "create it"),
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
    "auth:CreateKey": (USER, "create an access key for it"),
    "auth:RevokeKey": (USER, "revoke one of its access keys"),
    "auth:ListPolicies": (POLICY, "see that the policy is there"),
    "auth:ReadPolicy": (POLICY, "read its statements"),
    "auth:PutPolicy": (POLICY, "create or replace it"),
    "auth:DeletePolicy": (POLICY, "delete it"),
    "auth:AttachPolicy": (BOTH, "attach it"),
    "auth:DetachPolicy": (BOTH, "detach it"),
    "lake:ReadEvents": (LAKE, "read the lake's own journal"),
    "lake:ReadSettings": (LAKE, "read the server's configuration, its secrets masked"),
    "lake:ManageQueries": (LAKE, "see the queries of others that run on the server, and cancel them"),
    "lake:ReadMetrics": (LAKE, "read what the server measures of itself"),
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
)
