"""Where a cell plays: the names that its request is filled with, and the places that its rights are asked about."""

from __future__ import annotations

from typing import NamedTuple

from tests.integration.matrix.roles import Place


class Scope(NamedTuple):
    name: str
    repository: str = "shop"
    ref: str = "main"
    kind: str = "branch"
    path: str = "data/a.csv"
    pool: str = "rows"

    @property
    def folder(self) -> str:
        return self.path.partition("/")[0] + "/"

    @property
    def absent(self) -> bool:
        return self.name in ("no-repository", "no-branch")


HOME = Scope("home")
NO_REPOSITORY, NO_BRANCH = Scope("no-repository", "missing", pool="nowhere"), Scope("no-branch", ref="missing")
OTHER = Scope("other", "other", pool="others")
FROZEN = Scope("frozen", "frozen", pool="ice")
_REPOSITORIES = (HOME, OTHER, FROZEN, NO_REPOSITORY)
_BRANCHES = (*_REPOSITORIES, Scope("dev", ref="dev"), Scope("locked", ref="locked"), NO_BRANCH)
SCOPES = {
    "lake": (HOME,),
    "repository": _REPOSITORIES,
    "branch": _BRANCHES,
    "existing branch": tuple(each for each in _BRANCHES if each is not NO_BRANCH),
    "clean branch": (*_REPOSITORIES, Scope("dev", ref="dev"), Scope("locked", ref="sealed"), NO_BRANCH),
    "ref": (*_BRANCHES, Scope("tag", ref="v1", kind="tag")),
    "written object": (*_BRANCHES, Scope("secret", path="secret/s.csv")),
    "object": (*_BRANCHES, Scope("secret", path="secret/s.csv"), Scope("tag", ref="v1", kind="tag")),
}


def place(name: str, at: Scope) -> Place:
    repository, pool = at.repository, at.pool
    main, dev = Place(repository, "branch", "main"), Place(repository, "branch", "dev")
    ref = Place(repository, at.kind, at.ref)
    pool_main = Place(pool, "branch", "main")
    match name:
        case "repo":
            return Place(repository)
        case "new":
            return Place("other")
        case "everything":
            return Place(repository, "", "*", None, True)
        case "everyBranch":
            return Place(repository, "branch", "*", None, True)
        case "everyTag":
            return Place(repository, "tag", "*", None, True)
        case "allOfOther":
            return Place("other", "", "*", None, True)
        case "all":
            return Place("*", "", "*", None, True)
        case "erased":
            return Place("erased")
        case "lake":
            return Place(name="lake")
        case "main":
            return main
        case "dev" | "source":
            return dev
        case "mainObject":
            return main._replace(path="data/a.csv")
        case "mainObjects":
            return main._replace(path="", below=True)
        case "devObject" | "sourceObject":
            return dev._replace(path="data/a.csv")
        case "sourceFolder":
            return dev._replace(path="data/", below=True)
        case "ref":
            return ref
        case "object":
            return ref._replace(path=at.path)
        case "folder":
            return ref._replace(path=at.folder, below=True)
        case "folderName":
            return ref._replace(path=at.folder)
        case "allNames":
            return ref._replace(path="")
        case "newBranch":
            return Place(repository, "branch", "renamed")
        case "tag":
            return Place(repository, "tag", "v1")
        case "newTag":
            return Place(repository, "tag", "made")
        case "pool":
            return Place(pool)
        case "poolMain":
            return pool_main
        case "poolDev":
            return pool_main._replace(ref="dev")
        case "poolNew":
            return pool_main._replace(ref="made")
        case "poolRows":
            return pool_main._replace(path="")
        case "poolDevRows":
            return pool_main._replace(ref="dev", path="")
        case "poolEverything":
            return Place(pool, "", "*", None, True)
        case "user" | "owner":
            return Place(name="user/bea")
        case "group":
            return Place(name="group/crew")
        case "policy":
            return Place(name="policy/Extra")
        case "newPolicy":
            return Place(name="policy/Newer")
        case "policies":
            return Place(name="policy/*", below=True)
    raise AssertionError(f"{name!r} is no place")
