"""Who asks, and what each of them may do: written by hand, as the documentation of access says it. Nothing here is
taken from the code that decides.

A role is made by real policies, keys and sessions; beside it stands, in plain Python, what that comes to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Place(NamedTuple):
    """What a right is asked about. `path` is that of an object; None: it is no object. `below`: everything that begins
    like that."""

    repository: str = ""  # "*": every one
    kind: str = ""  # of the ref: branch or tag
    ref: str = ""  # "*": every one
    path: str | None = None
    below: bool = False
    name: str = ""  # of a user, a group or a policy, with the kind in front; or `lake`


May = Callable[[str, Place], bool]

READS = frozenset(
    """fs:ListRepositories fs:ReadRepository fs:ListBranches fs:ReadBranch fs:ListTags fs:ReadTag fs:ReadCommit
    fs:ListObjects fs:ReadObject fs:ReadWorkspace fs:ReadPullRequest""".split()  # noqa: SIM905
)
WRITES = frozenset(
    """fs:CreateBranch fs:DeleteBranch fs:ResetBranch fs:StashChanges fs:CreateCommit fs:MergeBranch fs:RevertCommit
    fs:CreateWorkspace fs:CreateTag fs:DeleteTag fs:WriteObject fs:DeleteObject fs:ReadEvents fs:WritePullRequest
    fs:ReviewPullRequest""".split()  # noqa: SIM905
)
OBJECTS = frozenset(("fs:ReadObject", "fs:ListObjects", "fs:WriteObject", "fs:DeleteObject"))
REPOSITORIES = ("shop", "other", "frozen", "missing")
OWN, DEV, SECRET, FOLDER = "shop", "dev", "secret/", "data/"


def everything(action: str, place: Place) -> bool:
    return True


def nothing(action: str, place: Place) -> bool:
    return False


def developer(action: str, place: Place) -> bool:
    return action in READS | WRITES


def analyst(action: str, place: Place) -> bool:
    return action in READS


def owner(action: str, place: Place) -> bool:
    return action.startswith("fs:") and place.repository == OWN


def dev_only(action: str, place: Place) -> bool:
    return action.startswith("fs:") and place[:3] == (OWN, "branch", DEV)


def all_but_dev(action: str, place: Place) -> bool:
    if place.repository == "*" or (place.repository == OWN and place.ref == "*"):
        return False  # dev is among them
    return place[:3] != (OWN, "branch", DEV)


def main_only(action: str, place: Place) -> bool:
    return place[:3] == (OWN, "branch", "main")


def main_folder(action: str, place: Place) -> bool:
    return place[:3] == (OWN, "branch", "main") and place.path is not None and place.path.startswith(FOLDER)


def folder(action: str, place: Place) -> bool:
    in_folder = place.path is not None and place.path.startswith(FOLDER)
    return action in OBJECTS and place.repository == OWN and place.ref != "*" and in_folder


def all_but_secrets(action: str, place: Place) -> bool:
    """Denied are the paths alone: what is not asked of a path is allowed."""
    if place.repository not in (*REPOSITORIES, "*") or (place.path is None and not place.below):
        return True
    path = place.path or ""
    return not (path.startswith(SECRET) or (place.below and SECRET.startswith(path)))


class Role(NamedTuple):
    may: May
    statements: tuple[tuple[str, str, str], ...] = ()  # effect, action, resource
    via: str = "user"  # or group, key, session: what gives it, or narrows it
    limits: tuple[str, ...] = ()
    when: Mapping[str, str] = {}


_ALL = ("allow", "*", "*")
ROLES: Mapping[str, Role] = {
    "admin": Role(everything, (_ALL,)),
    "developer": Role(developer, via="Developer"),
    "analyst": Role(analyst, via="Analyst"),
    "member": Role(analyst, via="group"),
    "nobody": Role(nothing),
    "owner": Role(owner, (("allow", "fs:*", "repository/shop"), ("allow", "fs:*", "repository/shop/*"))),
    "dev-only": Role(
        dev_only, (("allow", "fs:*", "repository/shop/branch/dev"), ("allow", "fs:*", "repository/shop/branch/dev/*"))
    ),
    "all-but-dev": Role(
        all_but_dev,
        (_ALL, ("deny", "*", "repository/shop/branch/dev"), ("deny", "*", "repository/shop/branch/dev/*")),
    ),
    "folder": Role(folder, tuple(("allow", each, "repository/shop/object/data/*") for each in sorted(OBJECTS))),
    "all-but-secrets": Role(
        all_but_secrets, (_ALL, *(("deny", "*", f"repository/{each}/object/secret/*") for each in REPOSITORIES))
    ),
    "limited-key": Role(main_only, (_ALL,), "key", ("repository/shop/branch/main", "repository/shop/branch/main/*")),
    "session": Role(main_folder, (_ALL,), "session", ("repository/shop/branch/main/object/data/*",)),
    "here": Role(
        analyst, tuple(("allow", each, "repository/*") for each in sorted(READS)), when={"source": "127.0.0.0/8"}
    ),
    "elsewhere": Role(nothing, (_ALL,), when={"source": "10.0.0.0/8"}),
    "long-ago": Role(nothing, (_ALL,), when={"before": "2020-01-01T00:00:00Z"}),
}
OUTSIDE = ("anonymous", "wrong-secret", "disabled", "expired", "revoked")  # nobody lets them in


def all_but(action: str, denied: Place) -> Role:
    """Everything but one action at one place."""

    def may(asked: str, place: Place) -> bool:
        return asked != action or not _meet(place, denied)

    return Role(may, (_ALL, ("deny", action, _resource(denied) + ("*" if denied.below else ""))))


def _meet(place: Place, denied: Place) -> bool:
    """Whether what is denied is a part of what is asked about, or the other way round."""
    one, other = _resource(place), _resource(denied)
    return one == other or (denied.below and one.startswith(other)) or (place.below and other.startswith(one))


def _resource(place: Place) -> str:
    """As the documentation writes it; of what is `below`, how it begins."""
    if place.name:
        return place.name.removesuffix("*")
    if place.repository == "*":
        return "repository/"
    found = f"repository/{place.repository}"
    if place.ref == "*":
        return f"{found}/{place.kind}/" if place.kind else f"{found}/"
    if place.ref:
        found += f"/{place.kind}/{place.ref}"
    return found if place.path is None else f"{found}/object/{place.path}"
