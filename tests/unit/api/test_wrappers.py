"""Rights around every verb: refused without them and nothing happens, done with exactly them.

The table of this test is written by hand. It says what each verb needs in full, and takes nothing from the table of
verbs: a row there with another action fails here.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from lochan.access.rights import Denied
from lochan.api.collection import KeepRule
from lochan.api.frames import FeedOptions
from lochan.api.imports import ImportSource
from lochan.api.lake import Lake
from lochan.api.options import CommitOptions
from lochan.api.session import Session
from lochan.api.streams import FolderSource
from lochan.api.verbs import VERBS, Kind
from lochan.api.watch import WatchOptions
from lochan.api.wrappers.records import AuditLine, Caller, Use, serve_lake
from lochan.errors import Dirty, LochanError, NotFound, PreconditionFailed, Refused
from lochan.formats.record import Actor
from lochan.lake import Lake as OpenLake
from lochan.lake import LakeOptions
from lochan.store.local import LocalStore

ADMIN = Actor("ann", "test", "here")
SHOP, LOGS = "repository/shop", "repository/logs"
MAIN, DEV, OLD = f"{SHOP}/branch/main", f"{SHOP}/branch/dev", f"{SHOP}/tag/v1"
ROWS, OBJECTS = f"{LOGS}/branch/main", f"{LOGS}/branch/main/object/"
MESSAGE = CommitOptions(message="it")
STATEMENTS = b'{"statements": [{"effect": "allow", "actions": "fs:ReadTag", "resources": "*"}]}'


class Case(NamedTuple):
    call: Callable[[Lake], Any]
    needs: str  # actions and resources, one pair on each line; a list of patterns that allow the call
    hides: bool = False  # without the rights the answer is empty
    local: bool = False  # it is refused to every user of a server
    fails: type[LochanError] | None = None  # what comes of it with the rights, where not everything was made ready


def main(lake: Lake) -> Any:
    return lake.repository("shop").branch("main")


def shop(lake: Lake) -> Any:
    return lake.repository("shop")


def logs(lake: Lake) -> Any:
    return lake.pool("logs")


def upload(lake: Lake) -> Any:
    return main(lake).open_upload("big", "1")


def workspace(lake: Lake) -> Any:
    return lake.repository("shop").workspace(_WORKSPACE[0])


_WORKSPACE: list[str] = []  # the name of the one that the sample lake has
_STASHED: list[str] = []
_KEY: list[str] = []
_GONE: list[str] = []  # the id of a repository that was deleted

CASES = {
    "Lake.repositories": Case(lambda it: it.repositories(), f"fs:ListRepositories {SHOP}", hides=True),
    "Lake.pools": Case(lambda it: it.pools(), f"fs:ListRepositories {LOGS}", hides=True),
    "Lake.create_repository": Case(lambda it: it.create_repository("new"), "fs:CreateRepository repository/new"),
    "Lake.create_pool": Case(lambda it: it.create_pool("new", key="n"), "fs:CreateRepository repository/new"),
    "Lake.deleted_repositories": Case(
        lambda it: it.deleted_repositories(), "fs:ListRepositories repository/gone", hides=True
    ),
    "Lake.restore_repository": Case(
        lambda it: it.restore_repository(_GONE[0], "back"),
        "fs:DeleteRepository repository/gone\nfs:CreateRepository repository/back",
    ),
    "DeletedCollection.status": Case(lambda it: it.deleted.status(["gone"]), "fs:CollectGarbage repository/gone"),
    "DeletedCollection.plan": Case(
        lambda it: it.deleted.plan([_GONE[0]]),
        "fs:CollectGarbage repository/gone\nfs:DeleteRepository repository/gone",
        fails=Refused,
    ),
    "DeletedCollection.sweep": Case(
        lambda it: it.deleted.sweep(confirmed=True),
        "fs:CollectGarbage repository/*\nfs:DeleteRepository repository/*",
        fails=Refused,
    ),
    "DeletedCollection.run": Case(
        lambda it: it.deleted.run(), "fs:CollectGarbage repository/*\nfs:DeleteRepository repository/*"
    ),
    "Lake.query": Case(lambda it: it.query("from logs | count()"), f"fs:ReadObject {OBJECTS}*"),
    "Lake.load_sources": Case(lambda it: it.load_sources(["/etc/passwd"]), "", local=True),
    "Lake.explain": Case(lambda it: it.explain("from logs | count()"), f"fs:ReadObject {OBJECTS}*"),
    "Lake.diff_rows": Case(
        lambda it: it.diff_rows("logs@main~", "logs@main"),
        f"fs:ReadObject {LOGS}/commit/*\nfs:ReadObject {OBJECTS}*",
    ),
    "Lake.events": Case(lambda it: it.events("shop", last=1), f"fs:ReadEvents {SHOP}\nfs:ReadObject {SHOP}/*"),
    "Lake.upkeep": Case(lambda it: it.upkeep(pools=["logs"]), f"fs:CollectGarbage {LOGS}\nfs:WriteObject {LOGS}/*"),
    "Lake.upkeep_status": Case(lambda it: it.upkeep_status(), "lake:ReadEvents lake"),
    "Lake.run_upkeep": Case(
        lambda it: it.run_upkeep(["trim"]), "fs:CollectGarbage repository/*\nfs:WriteObject repository/*"
    ),
    "Lake.fsck": Case(lambda it: it.fsck(), "lake:Maintain lake"),
    "Lake.rebuild": Case(lambda it: it.rebuild(check=True), "lake:Maintain lake"),
    "Lake.scrub": Case(lambda it: it.scrub(), "lake:Maintain lake"),
    "Lake.backup": Case(lambda it: it.backup("/nowhere"), "", local=True),
    "Lake.usage": Case(lambda it: it.usage(), "lake:ManageUsage lake"),
    "Lake.compact_usage": Case(lambda it: it.compact_usage(), "lake:ManageUsage lake"),
    "Lake.jobs": Case(lambda it: it.jobs(), "lake:ReadEvents lake"),
    "Lake.job": Case(lambda it: it.job("nothing"), "lake:ReadEvents lake", fails=NotFound),
    "Repository.show": Case(lambda it: shop(it).show(), f"fs:ReadRepository {SHOP}"),
    "Repository.branches": Case(lambda it: shop(it).branches(), f"fs:ListBranches {SHOP}"),
    "Repository.create_branch": Case(
        lambda it: shop(it).create_branch("new", "v1"), f"fs:CreateBranch {SHOP}/branch/new\nfs:ReadCommit {OLD}"
    ),
    "Repository.delete_branch": Case(lambda it: shop(it).delete_branch("dev"), f"fs:DeleteBranch {DEV}"),
    "Repository.restore_branch": Case(
        lambda it: shop(it).restore_branch("gone"), f"fs:CreateBranch {SHOP}/branch/gone"
    ),
    "Repository.tags": Case(lambda it: shop(it).tags(), f"fs:ListTags {SHOP}"),
    "Repository.create_tag": Case(
        lambda it: shop(it).create_tag("v2", "dev"), f"fs:CreateTag {SHOP}/tag/v2\nfs:ReadCommit {DEV}"
    ),
    "Repository.delete_tag": Case(lambda it: shop(it).delete_tag("v1"), f"fs:DeleteTag {OLD}"),
    "Repository.merge_base": Case(
        lambda it: shop(it).merge_base("main", "dev"), f"fs:ReadCommit {MAIN}\nfs:ReadCommit {DEV}"
    ),
    "Repository.merge_bases": Case(
        lambda it: shop(it).merge_bases("main", "dev"), f"fs:ReadCommit {MAIN}\nfs:ReadCommit {DEV}"
    ),
    "Repository.bisect": Case(lambda it: shop(it).bisect(["v1"], "main"), f"fs:ReadCommit {OLD}\nfs:ReadCommit {MAIN}"),
    "Repository.render_lifecycle": Case(
        lambda it: shop(it).render_lifecycle("raw/", expire_days=1), f"fs:ReadRepository {SHOP}", fails=Refused
    ),
    "Repository.render_policy": Case(
        lambda it: shop(it).render_policy(["raw/"]), f"fs:ReadRepository {SHOP}", fails=Refused
    ),
    "Repository.protections": Case(lambda it: shop(it).protections(), f"fs:ReadRepository {SHOP}"),
    "Repository.protect": Case(lambda it: shop(it).protect("m*"), f"fs:ProtectBranch {SHOP}"),
    "Repository.unprotect": Case(lambda it: shop(it).unprotect("release"), f"fs:ProtectBranch {SHOP}"),
    "Repository.is_read_only": Case(lambda it: shop(it).is_read_only(), f"fs:ReadRepository {SHOP}"),
    "Repository.set_read_only": Case(lambda it: shop(it).set_read_only(), f"fs:UpdateRepository {SHOP}"),
    "Repository.stashes": Case(lambda it: shop(it).stashes(), f"fs:ReadBranch {MAIN}", hides=True),
    "Repository.workspaces": Case(lambda it: shop(it).workspaces(), f"fs:ReadWorkspace {MAIN}", hides=True),
    "Repository.rename": Case(
        lambda it: shop(it).rename("store"), f"fs:DeleteRepository {SHOP}\nfs:CreateRepository repository/store"
    ),
    "Repository.delete": Case(lambda it: shop(it).delete(), f"fs:DeleteRepository {SHOP}"),
    "Storage.duplicates": Case(lambda it: shop(it).storage.duplicates(), f"fs:CollectGarbage {SHOP}"),
    "Storage.dedupe": Case(lambda it: shop(it).storage.dedupe(), f"fs:CollectGarbage {SHOP}"),
    "Storage.sparse_files": Case(lambda it: shop(it).storage.sparse_files(), f"fs:CollectGarbage {SHOP}"),
    "Storage.repack": Case(lambda it: shop(it).storage.repack(), f"fs:CollectGarbage {SHOP}"),
    "Storage.coalesce": Case(lambda it: shop(it).storage.coalesce("main", ""), f"fs:CollectGarbage {SHOP}"),
    "Storage.dangling": Case(lambda it: shop(it).storage.dangling(), f"fs:CollectGarbage {SHOP}"),
    "GarbageCollection.rules": Case(lambda it: shop(it).gc.rules(), f"fs:ReadRepository {SHOP}"),
    "GarbageCollection.set_rules": Case(
        lambda it: shop(it).gc.set_rules([KeepRule(pattern="*", days=9)]), f"fs:SetRetention {SHOP}"
    ),
    "GarbageCollection.check_rules": Case(lambda it: shop(it).gc.check_rules(), f"fs:ReadRepository {SHOP}"),
    "GarbageCollection.expire": Case(lambda it: shop(it).gc.expire(), f"fs:CollectGarbage {SHOP}"),
    "GarbageCollection.preview": Case(lambda it: shop(it).gc.preview(), f"fs:CollectGarbage {SHOP}"),
    "GarbageCollection.plan": Case(lambda it: shop(it).gc.plan(), f"fs:CollectGarbage {SHOP}"),
    "GarbageCollection.sweep": Case(lambda it: shop(it).gc.sweep(), f"fs:CollectGarbage {SHOP}", fails=Refused),
    "GarbageCollection.abandon": Case(lambda it: shop(it).gc.abandon(), f"fs:CollectGarbage {SHOP}", fails=Refused),
    "GarbageCollection.held_jobs": Case(lambda it: shop(it).gc.held_jobs(), f"fs:ReadRepository {SHOP}"),
    "GarbageCollection.abandon_jobs": Case(lambda it: shop(it).gc.abandon_jobs(), f"fs:CollectGarbage {SHOP}"),
    "GarbageCollection.status": Case(lambda it: shop(it).gc.status(), f"fs:ReadRepository {SHOP}"),
    "GarbageCollection.drop": Case(
        lambda it: shop(it).gc.drop(),
        f"fs:CollectGarbage {SHOP}\nfs:DeleteObject {SHOP}/branch/*\nfs:CreateCommit {SHOP}/branch/*",
    ),
    "GarbageCollection.run": Case(
        lambda it: shop(it).gc.run(),
        f"fs:CollectGarbage {SHOP}\nfs:DeleteObject {SHOP}/branch/*\nfs:CreateCommit {SHOP}/branch/*",
    ),
    "Pool.load": Case(lambda it: logs(it).load([{"n": 9}]), f"fs:WriteObject {OBJECTS}*\nfs:CreateCommit {ROWS}"),
    "Pool.load_engine": Case(lambda it: logs(it).load_engine([]), "", local=True),
    "Pool.load_files": Case(lambda it: logs(it).load_files([]), "", local=True),
    "Pool.query": Case(lambda it: logs(it).query("count()"), f"fs:ReadObject {OBJECTS}*"),
    "Pool.fields": Case(lambda it: logs(it).fields(), f"fs:ReadObject {OBJECTS}*"),
    "Pool.summary": Case(lambda it: logs(it).summary(), f"fs:ReadObject {OBJECTS}*"),
    "Pool.delete_rows": Case(
        lambda it: logs(it).delete_rows("n == 1", MESSAGE),
        f"fs:DeleteObject {OBJECTS}*\nfs:ReadObject {OBJECTS}*\nfs:CreateCommit {ROWS}",
    ),
    "Pool.delete_objects": Case(
        lambda it: logs(it).delete_objects(["nothing"]),
        f"fs:DeleteObject {OBJECTS}*\nfs:CreateCommit {ROWS}",
        fails=NotFound,
    ),
    "Pool.compact": Case(lambda it: logs(it).compact(), f"fs:WriteObject {OBJECTS}*\nfs:CreateCommit {ROWS}"),
    "Pool.try_compact": Case(lambda it: logs(it).try_compact(), f"fs:ReadObject {OBJECTS}*"),
    "Ref.resolve": Case(lambda it: shop(it).ref("v1").resolve(), f"fs:ReadCommit {OLD}"),
    "Ref.log": Case(
        lambda it: shop(it).ref("main").log(path="raw/a.txt"),
        f"fs:ReadCommit {MAIN}\nfs:ReadObject {MAIN}/object/raw/a.txt",
    ),
    "Ref.log_graph": Case(lambda it: shop(it).ref("main").log_graph(), f"fs:ReadCommit {MAIN}"),
    "Ref.diff": Case(
        lambda it: shop(it).ref("v1").diff("main"),
        f"fs:ReadCommit {OLD}\nfs:ReadCommit {MAIN}\nfs:ReadObject {OLD}/object/*\nfs:ReadObject {MAIN}/object/*",
        hides=True,
    ),
    "Ref.diff_count": Case(
        lambda it: shop(it).ref("v1").diff_count("main", prefix="raw/"),
        f"fs:ReadCommit {OLD}\nfs:ReadCommit {MAIN}"
        f"\nfs:ReadObject {OLD}/object/raw/*\nfs:ReadObject {MAIN}/object/raw/*",
    ),
    "Ref.diff_folders": Case(
        lambda it: shop(it).ref("v1").diff_folders("main"),
        f"fs:ReadCommit {OLD}\nfs:ReadCommit {MAIN}\nfs:ReadObject {OLD}/object/*\nfs:ReadObject {MAIN}/object/*",
    ),
    "Ref.diff_objects": Case(
        lambda it: logs(it).ref("main~").diff_objects("main"),
        f"fs:ReadCommit {LOGS}/commit/*\nfs:ReadCommit {ROWS}\nfs:ReadObject {LOGS}/commit/*\nfs:ReadObject {OBJECTS}*",
    ),
    "Ref.blame": Case(
        lambda it: shop(it).ref("main").blame("raw/a.txt"),
        f"fs:ReadCommit {MAIN}\nfs:ReadObject {MAIN}/object/raw/a.txt",
    ),
    "Ref.blame_folder": Case(
        lambda it: shop(it).ref("main").blame_folder("raw/"),
        f"fs:ReadCommit {MAIN}\nfs:ListObjects {MAIN}/object/raw/\nfs:ReadObject {MAIN}/object/raw/*",
        hides=True,
    ),
    "Ref.list": Case(
        lambda it: shop(it).ref("main").list("raw/"),
        f"fs:ListObjects {MAIN}/object/raw/\nfs:ReadObject {MAIN}/object/raw/a.txt",
        hides=True,
    ),
    "Ref.list_page": Case(
        lambda it: shop(it).ref("main").list_page(delimiter="/"),
        f"fs:ListObjects {MAIN}/object/\nfs:ReadObject {MAIN}/object/raw/a.txt",
        hides=True,
    ),
    "Ref.list_pages": Case(
        lambda it: shop(it).ref("main").list_pages(),
        f"fs:ListObjects {MAIN}/object/\nfs:ReadObject {MAIN}/object/raw/a.txt",
        hides=True,
    ),
    "Ref.stat": Case(lambda it: shop(it).ref("v1").stat("raw/a.txt"), f"fs:ReadObject {OLD}/object/raw/a.txt"),
    "Ref.details": Case(lambda it: main(it).details("raw/a.txt"), f"fs:ReadObject {MAIN}/object/raw/a.txt"),
    "Ref.open": Case(lambda it: main(it).open("raw/a.txt"), f"fs:ReadObject {MAIN}/object/raw/a.txt"),
    "Ref.stream": Case(lambda it: main(it).stream("raw/a.txt"), f"fs:ReadObject {MAIN}/object/raw/a.txt"),
    "Ref.read": Case(lambda it: shop(it).ref("").read("raw/a.txt"), f"fs:ReadObject {MAIN}/object/raw/a.txt"),
    "Ref.download": Case(
        lambda it: main(it).download("raw/a.txt", "/nowhere"), f"fs:ReadObject {MAIN}/object/raw/a.txt", local=True
    ),
    "Ref.download_folder": Case(
        lambda it: main(it).download_folder("raw/", "/nowhere"), f"fs:ReadObject {MAIN}/object/raw/*", local=True
    ),
    "Ref.export": Case(
        lambda it: main(it).export("file:///nowhere", prefix="raw/"), f"fs:ReadObject {MAIN}/object/raw/*", local=True
    ),
    "WritableRef.status": Case(
        lambda it: main(it).status(), f"fs:ReadBranch {MAIN}\nfs:ReadObject {MAIN}/object/staged.txt", hides=True
    ),
    "WritableRef.status_table": Case(
        lambda it: main(it).status_table(),
        f"fs:ReadBranch {MAIN}\nfs:ReadObject {MAIN}/object/staged.txt",
        hides=True,
    ),
    "WritableRef.status_count": Case(
        lambda it: main(it).status_count(), f"fs:ReadBranch {MAIN}\nfs:ReadObject {MAIN}/object/*"
    ),
    "WritableRef.status_folders": Case(
        lambda it: main(it).status_folders(), f"fs:ReadBranch {MAIN}\nfs:ReadObject {MAIN}/object/*"
    ),
    "WritableRef.put": Case(lambda it: workspace(it).put("new", b"1"), f"fs:WriteObject {MAIN}/object/new"),
    "WritableRef.upload": Case(
        lambda it: main(it).upload("/etc/passwd", "new"), f"fs:WriteObject {MAIN}/object/new*", local=True
    ),
    "WritableRef.delete": Case(
        lambda it: main(it).delete("raw/a.txt", "b.txt"),
        f"fs:DeleteObject {MAIN}/object/raw/a.txt\nfs:DeleteObject {MAIN}/object/b.txt",
    ),
    "WritableRef.delete_if": Case(
        lambda it: main(it).delete_if("b.txt", "0" * 32),
        f"fs:DeleteObject {MAIN}/object/b.txt",
        fails=PreconditionFailed,
    ),
    "WritableRef.delete_folder": Case(
        lambda it: main(it).delete_folder("raw/"), f"fs:DeleteObject {MAIN}/object/raw/*"
    ),
    "WritableRef.copy": Case(
        lambda it: main(it).copy(shop(it).ref("v1"), "raw/a.txt", "copy"),
        f"fs:ReadObject {OLD}/object/raw/a.txt\nfs:WriteObject {MAIN}/object/copy",
    ),
    "WritableRef.copy_folder": Case(
        lambda it: main(it).copy_folder(shop(it).ref("v1"), "raw/", "copy/"),
        f"fs:ReadObject {OLD}/object/raw/*\nfs:WriteObject {MAIN}/object/copy/*",
    ),
    "WritableRef.move": Case(
        lambda it: main(it).move("b.txt", "c.txt"),
        f"fs:ReadObject {MAIN}/object/b.txt\nfs:DeleteObject {MAIN}/object/b.txt\nfs:WriteObject {MAIN}/object/c.txt",
    ),
    "WritableRef.move_folder": Case(
        lambda it: main(it).move_folder("raw/", "cooked/"),
        f"fs:ReadObject {MAIN}/object/raw/*\nfs:DeleteObject {MAIN}/object/raw/*"
        f"\nfs:WriteObject {MAIN}/object/cooked/*",
    ),
    "Branch.show": Case(lambda it: main(it).show(), f"fs:ReadBranch {MAIN}"),
    "Branch.commit": Case(lambda it: main(it).commit("it"), f"fs:CreateCommit {MAIN}"),
    "Branch.reset": Case(lambda it: main(it).reset("v1"), f"fs:ResetBranch {MAIN}\nfs:ReadCommit {OLD}"),
    "Branch.address": Case(lambda it: main(it).address("new"), f"fs:WriteObject {MAIN}/object/new"),
    "Branch.link": Case(
        lambda it: main(it).link("new", "file:///nothing"),
        f"fs:Import {MAIN}\nfs:WriteObject {MAIN}/object/new",
        fails=Refused,
    ),
    "Branch.link_address": Case(
        lambda it: main(it).link_address("new", "nothing"), f"fs:WriteObject {MAIN}/object/new", fails=Refused
    ),
    "Branch.import_files": Case(
        lambda it: main(it).import_files([ImportSource("file:///nothing", "in/")], MESSAGE),
        f"fs:Import {MAIN}\nfs:WriteObject {MAIN}/object/in/*",
        fails=Refused,
    ),
    "Branch.try_import": Case(
        lambda it: main(it).try_import([ImportSource("file:///nothing", "in/")]),
        f"fs:Import {MAIN}\nfs:ReadObject {MAIN}/object/in/*",
        fails=Refused,
    ),
    "Branch.ingest": Case(
        lambda it: main(it).ingest(ImportSource("file:///nothing", "in/"), MESSAGE),
        f"fs:Import {MAIN}\nfs:WriteObject {MAIN}/object/in/*\nfs:DeleteObject {MAIN}/object/in/*",
        fails=Refused,
    ),
    "Branch.ingest_diff": Case(
        lambda it: main(it).ingest_diff(ImportSource("file:///nothing", "in/")),
        f"fs:Import {MAIN}\nfs:ReadObject {MAIN}/object/in/*",
        fails=Refused,
    ),
    "Branch.ingest_watch": Case(
        lambda it: main(it).ingest_watch(ImportSource("memory://x", "raw/"), WatchOptions(once=True)),
        f"fs:Import {MAIN}\nfs:WriteObject {MAIN}/object/raw/*\nfs:DeleteObject {MAIN}/object/raw/*",
        local=True,
    ),
    "Branch.stash": Case(lambda it: main(it).stash("it"), f"fs:StashChanges {MAIN}"),
    "Branch.pop_stash": Case(lambda it: main(it).pop_stash(_STASHED[0]), f"fs:StashChanges {MAIN}", fails=Dirty),
    "Branch.drop_stash": Case(lambda it: main(it).drop_stash(), f"fs:StashChanges {MAIN}"),
    "Branch.merge": Case(
        lambda it: shop(it).branch("dev").merge("v1", MESSAGE), f"fs:MergeBranch {DEV}\nfs:ReadCommit {OLD}"
    ),
    "Branch.try_merge": Case(
        lambda it: shop(it).branch("dev").try_merge("v1"), f"fs:MergeBranch {DEV}\nfs:ReadCommit {OLD}"
    ),
    "Branch.revert": Case(
        lambda it: shop(it).branch("dev").revert("dev", MESSAGE), f"fs:RevertCommit {DEV}\nfs:ReadCommit {DEV}"
    ),
    "Branch.cherry_pick": Case(
        lambda it: shop(it).branch("dev").cherry_pick("v1", MESSAGE), f"fs:RevertCommit {DEV}\nfs:ReadCommit {OLD}"
    ),
    "Branch.rebase": Case(
        lambda it: shop(it).branch("dev").rebase("main"), f"fs:ResetBranch {DEV}\nfs:ReadCommit {MAIN}"
    ),
    "Branch.rename": Case(
        lambda it: shop(it).branch("dev").rename("new"), f"fs:DeleteBranch {DEV}\nfs:CreateBranch {SHOP}/branch/new"
    ),
    "Branch.workspace": Case(lambda it: main(it).workspace("it"), f"fs:CreateWorkspace {MAIN}"),
    "Branch.transaction": Case(
        lambda it: main(it).transaction("it"), f"fs:CreateWorkspace {MAIN}\nfs:CreateCommit {MAIN}"
    ),
    "Workspace.show": Case(lambda it: workspace(it).show(), f"fs:ReadWorkspace {MAIN}"),
    "Workspace.path": Case(lambda it: workspace(it).path(), f"fs:ReadWorkspace {MAIN}"),
    "Workspace.changes": Case(
        lambda it: workspace(it).changes(), f"fs:ReadWorkspace {MAIN}\nfs:ReadObject {MAIN}/object/own.txt", hides=True
    ),
    "Workspace.changes_table": Case(
        lambda it: workspace(it).changes_table(),
        f"fs:ReadWorkspace {MAIN}\nfs:ReadObject {MAIN}/object/own.txt",
        hides=True,
    ),
    "Workspace.add": Case(lambda it: workspace(it).add("*.txt"), f"fs:CreateWorkspace {MAIN}"),
    "Workspace.revert": Case(lambda it: workspace(it).revert(), f"fs:CreateWorkspace {MAIN}"),
    "Workspace.commit": Case(lambda it: workspace(it).commit("it"), f"fs:CreateCommit {MAIN}"),
    "Workspace.drop": Case(lambda it: workspace(it).drop(), f"fs:CreateWorkspace {MAIN}"),
    "Access.users": Case(lambda it: it.access.users(), "auth:ListUsers user/ada\nauth:ReadUser user/ada", hides=True),
    "Access.user": Case(lambda it: it.access.user("ada"), "auth:ReadUser user/ada"),
    "Access.create_user": Case(lambda it: it.access.create_user("eve"), "auth:CreateUser user/eve"),
    "Access.delete_user": Case(lambda it: it.access.delete_user("ada"), "auth:DeleteUser user/ada"),
    "Access.keys": Case(lambda it: it.access.keys("ada"), "auth:ReadUser user/ada"),
    "Access.key": Case(lambda it: it.access.key(_KEY[0]), "auth:ReadUser user/ada"),
    "Access.create_key": Case(lambda it: it.access.create_key("ada"), "auth:CreateKey user/ada"),
    "Access.revoke_key": Case(lambda it: it.access.revoke_key(_KEY[0]), "auth:RevokeKey user/ada"),
    "Access.policies": Case(
        lambda it: it.access.policies(), "auth:ListPolicies policy/Admin\nauth:ReadPolicy policy/Admin", hides=True
    ),
    "Access.policy": Case(lambda it: it.access.policy("Admin"), "auth:ReadPolicy policy/Admin"),
    "Access.put_policy": Case(lambda it: it.access.put_policy("new", STATEMENTS), "auth:PutPolicy policy/new"),
    "Access.delete_policy": Case(lambda it: it.access.delete_policy("spare"), "auth:DeletePolicy policy/spare"),
    "Access.attach": Case(
        lambda it: it.access.attach("Analyst", "ada"),
        "auth:AttachPolicy policy/Analyst\nauth:AttachPolicy user/ada",
    ),
    "Access.detach": Case(
        lambda it: it.access.detach("spare2", "ada"), "auth:DetachPolicy policy/spare2\nauth:DetachPolicy user/ada"
    ),
    "Access.can": Case(
        lambda it: it.access.can("ada", "fs:ReadObject", SHOP), "auth:ReadUser user/ada\nauth:ReadPolicy policy/*"
    ),
    "Lake.doctor": Case(lambda it: it.doctor(), "", local=True),
    "Pool.ingest_stream": Case(lambda it: logs(it).ingest_stream(FolderSource(folder="/etc")), "", local=True),
    "Frames.read": Case(lambda it: it.frames.read(cast("Any", None), "logs"), "", local=True),
    "Frames.metadata": Case(lambda it: it.frames.metadata("logs:objects"), "", local=True),
    "Frames.scan": Case(lambda it: it.frames.scan("logs"), "", local=True),
    "Frames.parts": Case(lambda it: it.frames.parts("logs"), "", local=True),
    "Frames.feed": Case(lambda it: it.frames.feed("logs", FeedOptions()), "", local=True),
    "Frames.changes": Case(lambda it: it.frames.changes("logs", FeedOptions()), "", local=True),
    "Frames.feed_start": Case(lambda it: it.frames.feed_start(cast("Any", None)), "", local=True),
    "Frames.feed_end": Case(lambda it: it.frames.feed_end(cast("Any", None), None), "", local=True),
    "Frames.feed_batch": Case(lambda it: it.frames.feed_batch(cast("Any", None), "", ""), "", local=True),
    "Frames.source_scan": Case(lambda it: it.frames.source_scan("logs"), "", local=True),
    "Frames.prune": Case(lambda it: it.frames.prune(cast("Any", None), []), "", local=True),
    "Frames.diff": Case(lambda it: it.frames.diff("logs@main~", "logs@main"), "", local=True),
    "Frames.write": Case(lambda it: it.frames.write("logs"), "", local=True),
    "Frames.change": Case(lambda it: it.frames.change("logs", "main", command="update"), "", local=True),
    "Frames.stream": Case(lambda it: it.frames.stream("logs", checkpoint="/tmp"), "", local=True),
    "Repository.uploads": Case(lambda it: shop(it).uploads(), "", local=True),
    "Repository.snapshots": Case(lambda it: shop(it).snapshots(), "", local=True),
    "Repository.is_empty": Case(lambda it: shop(it).is_empty(), "", local=True),
    "Ref.list_table": Case(lambda it: main(it).list_table(), "", local=True),
    "Ref.snapshot": Case(lambda it: main(it).snapshot(), "", local=True),
    "WritableRef.create_upload": Case(lambda it: main(it).create_upload("big"), "", local=True),
    "Upload.show": Case(lambda it: upload(it).show(), "", local=True),
    "Upload.parts": Case(lambda it: upload(it).parts(), "", local=True),
    "Upload.put_part": Case(lambda it: upload(it).put_part(1, b"x"), "", local=True),
    "Upload.copy_part": Case(lambda it: upload(it).copy_part(1, main(it), "b.txt"), "", local=True),
    "Upload.complete": Case(lambda it: upload(it).complete([]), "", local=True),
    "Upload.abort": Case(lambda it: upload(it).abort(), "", local=True),
}
NAMES = sorted(CASES)
WITH_NEEDS = [name for name in NAMES if CASES[name].needs]


def test_every_verb_that_does_something_is_tried() -> None:
    assert set(CASES) == {f"{verb.noun}.{verb.name}" for verb in VERBS if verb.kind is not Kind.HANDLE}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "lake"
    asyncio.run(_make_sample(folder))
    return folder


async def _make_sample(folder: Path) -> None:
    opened = await OpenLake.create(LocalStore(str(folder), create=True))
    lake = Lake(Session(opened, ADMIN))
    await lake.access.create_user("ada")
    _KEY[:] = [(await lake.access.create_key("ada")).access_key_id]
    for name in ("spare", "spare2"):
        await lake.access.put_policy(name, STATEMENTS)
    await lake.access.attach("spare2", "ada")
    made = await lake.create_repository("shop")
    branch = made.branch("main")
    await made.create_branch("gone")
    await made.delete_branch("gone")
    await made.protect("release")
    await branch.put("first.txt", b"0")
    await branch.commit("zero")
    dev = await made.create_branch("dev", "main")
    await dev.put("d.txt", b"d")
    await dev.commit("dev")
    await branch.put("raw/a.txt", b"a")
    await branch.put("b.txt", b"b")
    await branch.commit("one")
    await made.create_tag("v1", "main")
    await branch.put("raw/a.txt", b"changed")
    await branch.commit("two")
    await branch.put("stash.txt", b"s")
    _STASHED[:] = [await branch.stash("aside")]
    own = await branch.workspace("own")
    _WORKSPACE[:] = [own.name]
    await own.put("own.txt", b"o")
    await branch.put("staged.txt", b"st")
    pool = await lake.create_pool("logs", key="n")
    await pool.load([{"n": 1}, {"n": 2}], "one")
    await pool.load([{"n": 1}, {"n": 3}], "two")
    gone = await lake.create_repository("gone")
    _GONE[:] = [(await gone.show()).id]
    await gone.delete()
    await lake.close()


@asynccontextmanager
async def served(sample: Path, folder: Path, statements: Sequence[tuple[str, str]]) -> AsyncIterator[tuple[Lake, Lake]]:
    """The lake as its owner has it, and as bob may use it."""
    shutil.copytree(sample, folder)
    opened = await OpenLake.open(LocalStore(str(folder)), world=LakeOptions(open_store=lambda _: LocalStore("/")))
    lake = Lake(Session(opened, ADMIN))
    try:
        await lake.access.create_user("bob")
        if statements:
            written = [{"effect": "allow", "actions": one, "resources": on} for one, on in statements]
            await lake.access.put_policy("bobs", json.dumps({"statements": written}).encode())
            await lake.access.attach("bobs", "bob")
        yield lake, serve_lake(lake, Caller("bob", "test", "there", opened.clock.boot()), _note, _note).lake
    finally:
        await lake.close()


def _note(_: Use | AuditLine) -> None:
    pass


async def result_of(answer: Any) -> Any:
    """What a verb gives, whole."""
    if inspect.isawaitable(answer):
        return _plain(await answer)
    if isinstance(answer, AbstractAsyncContextManager):
        async with answer as entered:
            await entered.put("tx.txt", b"1")
        return True
    return [item async for item in answer if _plain(item)]


def _plain(found: Any) -> Any:
    """Nothing, for a page or a table without rows."""
    if hasattr(found, "objects") and hasattr(found, "prefixes"):
        return [*found.objects, *found.prefixes]
    return found.to_pylist() if hasattr(found, "to_pylist") else found


def _pairs(needs: str) -> list[tuple[str, str]]:
    return [(line.split()[0], line.split()[1]) for line in needs.splitlines()]


async def _events(lake: Lake) -> list[tuple[str, int]]:
    return [(each.repository, each.number) async for each in lake.events()]


@pytest.mark.parametrize("name", NAMES)
def test_without_rights_nothing_is_done(name: str, sample: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with served(sample, tmp_path / "lake", []) as (lake, bobs):
            before = await _events(lake)
            await _refused(CASES[name], bobs)
            assert await _events(lake) == before

    asyncio.run(run())


async def _refused(case: Case, lake: Lake) -> None:
    """A list that begins without rights of its own is empty."""
    try:
        found = await result_of(case.call(lake))
    except Denied as error:
        assert "shop" not in error.hint and "main" not in str(error), "it tells nothing"
        return
    except Refused:
        assert case.local
        return
    assert case.hides and not found


@pytest.mark.parametrize("name", WITH_NEEDS)
def test_with_exactly_its_rights_it_is_done(name: str, sample: Path, tmp_path: Path) -> None:
    async def run() -> None:
        case = CASES[name]
        more = [("fs:WriteObject", f"{MAIN}/object/tx.txt")] if name == "Branch.transaction" else []
        async with served(sample, tmp_path / "lake", _pairs(case.needs) + more) as (_, bobs):
            await _done(case, bobs)

    asyncio.run(run())


async def _done(case: Case, lake: Lake) -> None:
    if case.local:
        with pytest.raises(Refused, match="is not served to users of a server"):
            await result_of(case.call(lake))
    elif case.fails is not None:
        with pytest.raises(case.fails):
            await result_of(case.call(lake))
    else:
        found = await result_of(case.call(lake))
        assert found or not case.hides


@pytest.mark.thorough
@pytest.mark.parametrize("name", WITH_NEEDS)
def test_each_of_its_rights_is_needed(name: str, sample: Path, tmp_path: Path) -> None:
    async def run() -> None:
        case = CASES[name]
        needed = _pairs(case.needs)
        for number, left_out in enumerate(needed):
            rest = [each for each in needed if each != left_out]
            async with served(sample, tmp_path / f"lake{number}", rest) as (lake, bobs):
                before = await _events(lake)
                await _refused(case, bobs)
                assert await _events(lake) == before

    asyncio.run(run())
