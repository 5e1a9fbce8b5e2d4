"""Rights around every verb: refused without them and nothing happens, done with exactly them.

The table of this test is written by hand. It says what each verb needs in full, and takes nothing from the table of
verbs: a row there with another action fails here.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from lochan.access.rights import Denied
from lochan.access.sessions import SignIn, open_session
from lochan.api.collection import KeepRule, RetentionInfo
from lochan.api.frames import FeedOptions
from lochan.api.imports import ImportSource
from lochan.api.lake import Lake
from lochan.api.migration import LakefsSource
from lochan.api.options import CommitOptions
from lochan.api.pull_results import Resolution
from lochan.api.session import Session
from lochan.api.spooled_files import ARCHIVE_END, archive_head
from lochan.api.streams import FolderSource
from lochan.api.verbs import VERBS, Kind
from lochan.api.watch import WatchOptions
from lochan.api.wrappers.records import AuditLine, Caller, Use, serve_lake
from lochan.errors import Dirty, Invalid, LochanError, NotFound, PreconditionFailed, Refused
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


def pull(lake: Lake) -> Any:
    return lake.repository("shop").pull(_PULL[0])


def workspace(lake: Lake) -> Any:
    return lake.repository("shop").workspace(_WORKSPACE[0])


_WORKSPACE: list[str] = []  # the name of the one that the sample lake has
_STASHED: list[str] = []
_KEY: list[str] = []
_SESSION: list[str] = []
_PULL: list[str] = []  # the id of a pull request from dev into main
_GONE: list[str] = []  # the id of a repository that was deleted

HOOKS = "on: pre-commit\nhooks: [{id: a, kind: query, query: from shop:entries}]"
READ_PULL = f"fs:ReadPullRequest {MAIN}\nfs:ReadBranch {DEV}"
WRITE_PULL = f"{READ_PULL}\nfs:WritePullRequest {MAIN}"
DIFF_PULL = f"{READ_PULL}\nfs:ReadCommit {MAIN}\nfs:ReadCommit {DEV}"

LAKEFS = LakefsSource("http://127.0.0.1:9", "key", "secret")
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
    "Lake.subscriptions": Case(lambda it: it.subscriptions(), "lake:ManageEvents lake", hides=True),
    "Lake.create_subscription": Case(
        lambda it: it.create_subscription("https://example.org/", "shop"),
        f"fs:ReadEvents {SHOP}\nfs:ReadObject {SHOP}/*",
    ),
    "Lake.delete_subscription": Case(
        lambda it: it.delete_subscription("nothing"), "lake:ManageEvents lake", fails=NotFound
    ),
    "Lake.dead_letters": Case(lambda it: it.dead_letters("nothing"), "lake:ManageEvents lake", fails=NotFound),
    "Lake.redeliver": Case(lambda it: it.redeliver("nothing"), "lake:ManageEvents lake", fails=NotFound),
    "Lake.upkeep": Case(lambda it: it.upkeep(pools=["logs"]), f"fs:CollectGarbage {LOGS}\nfs:WriteObject {LOGS}/*"),
    "Lake.upkeep_status": Case(lambda it: it.upkeep_status(), "lake:ReadEvents lake"),
    "Lake.run_upkeep": Case(
        lambda it: it.run_upkeep(["trim"]), "fs:CollectGarbage repository/*\nfs:WriteObject repository/*"
    ),
    "Lake.default_rules": Case(lambda it: it.default_rules(), "fs:ReadRepository repository/*"),
    "Lake.set_default_rules": Case(lambda it: it.set_default_rules(RetentionInfo()), "fs:SetRetention repository/*"),
    "Lake.fsck": Case(lambda it: it.fsck(), "lake:Maintain lake"),
    "Lake.rebuild": Case(lambda it: it.rebuild(check=True), "lake:Maintain lake"),
    "Lake.scrub": Case(lambda it: it.scrub(), "lake:Maintain lake"),
    "Lake.backup": Case(lambda it: it.backup("/nowhere"), "", local=True),
    "Lake.lakefs_repositories": Case(lambda it: it.lakefs_repositories(LAKEFS), "", local=True),
    "Lake.import_lakefs": Case(lambda it: it.import_lakefs(LAKEFS, "shop"), "", local=True),
    "Lake.usage": Case(lambda it: it.usage(), "lake:ManageUsage lake"),
    "Lake.audit": Case(
        lambda it: it.audit(), "lake:ReadEvents lake\nfs:ReadEvents repository/*\nfs:ReadObject repository/*"
    ),
    "Lake.compact_usage": Case(lambda it: it.compact_usage(), "lake:ManageUsage lake"),
    "Lake.preview_load": Case(lambda it: it.preview_load(b'{"ts":1}'), ""),
    "Lake.saved_queries": Case(lambda it: it.saved_queries(), ""),
    "Lake.save_query": Case(lambda it: it.save_query("mine", "from logs"), ""),
    "Lake.delete_query": Case(lambda it: it.delete_query("nothing"), "", fails=NotFound),
    "Lake.jobs": Case(lambda it: it.jobs(), "lake:ReadEvents lake"),
    "Lake.job": Case(lambda it: it.job("nothing"), "lake:ReadEvents lake", fails=NotFound),
    "Repository.pulls": Case(lambda it: shop(it).pulls(), READ_PULL, hides=True),
    "Repository.create_pull": Case(
        lambda it: shop(it).create_pull("main", "dev", title="back"),
        f"fs:WritePullRequest {DEV}\nfs:ReadBranch {MAIN}\nfs:ReadCommit {MAIN}",
    ),
    "PullRequest.show": Case(lambda it: pull(it).show(), READ_PULL),
    "PullRequest.comments": Case(
        lambda it: pull(it).comments(), f"{READ_PULL}\nfs:ReadObject {DEV}/object/d.txt", hides=True
    ),
    "PullRequest.checks": Case(lambda it: pull(it).checks(), READ_PULL),
    "PullRequest.diff": Case(
        lambda it: pull(it).diff(),
        f"{DIFF_PULL}\nfs:ReadObject {MAIN}/object/*\nfs:ReadObject {DEV}/object/*",
        hides=True,
    ),
    "PullRequest.conflicts": Case(lambda it: pull(it).conflicts(), DIFF_PULL),
    "PullRequest.update": Case(lambda it: pull(it).update(title="another"), WRITE_PULL),
    "PullRequest.close": Case(lambda it: pull(it).close(), WRITE_PULL),
    "PullRequest.reopen": Case(lambda it: pull(it).reopen(), WRITE_PULL, fails=Refused),
    "PullRequest.review": Case(lambda it: pull(it).review("approve"), f"{DIFF_PULL}\nfs:ReviewPullRequest {MAIN}"),
    "PullRequest.dismiss_review": Case(
        lambda it: pull(it).dismiss_review("cy"), f"{READ_PULL}\nfs:DismissReview {MAIN}", fails=NotFound
    ),
    "PullRequest.comment": Case(lambda it: pull(it).comment("so"), WRITE_PULL),
    "PullRequest.edit_comment": Case(lambda it: pull(it).edit_comment("none", "so"), WRITE_PULL, fails=NotFound),
    "PullRequest.resolve_thread": Case(lambda it: pull(it).resolve_thread("none"), WRITE_PULL, fails=NotFound),
    "PullRequest.check": Case(lambda it: pull(it).check("quality", "success"), f"{READ_PULL}\nfs:ReportCheck {MAIN}"),
    "PullRequest.resolve": Case(
        lambda it: pull(it).resolve([Resolution(path="d.txt", take="ours")]),
        f"{DIFF_PULL}\nfs:MergeBranch {DEV}\nfs:CreateCommit {DEV}\nfs:WriteObject {DEV}/object/d.txt",
        fails=Invalid,
    ),
    "PullRequest.merge": Case(lambda it: pull(it).merge(), f"{DIFF_PULL}\nfs:MergeBranch {MAIN}", fails=Dirty),
    "Repository.show": Case(lambda it: shop(it).show(), f"fs:ReadRepository {SHOP}"),
    "Repository.overview": Case(
        lambda it: shop(it).overview(), f"fs:ReadRepository {SHOP}\nfs:ReadCommit {MAIN}\nfs:ReadObject {MAIN}/object/*"
    ),
    "Repository.compare_branches": Case(
        lambda it: shop(it).compare_branches(),
        f"fs:ListBranches {SHOP}\nfs:ReadCommit {MAIN}\nfs:ReadBranch {SHOP}/branch/*\nfs:ReadObject {SHOP}/branch/*",
        hides=True,
    ),
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
    "Repository.set_protections": Case(lambda it: shop(it).set_protections([]), f"fs:ProtectBranch {SHOP}"),
    "Repository.unprotect": Case(lambda it: shop(it).unprotect("release"), f"fs:ProtectBranch {SHOP}"),
    "Repository.show_tag": Case(lambda it: shop(it).show_tag("v1"), f"fs:ReadTag {OLD}"),
    "Repository.is_bare": Case(lambda it: shop(it).is_bare(), f"fs:ReadRepository {SHOP}"),
    "Repository.restore_history": Case(
        lambda it: shop(it).restore_history("other", {"main": "f" * 64}),
        "fs:ReadRepository repository/other\nfs:ReadCommit repository/other/*\nfs:ReadObject repository/other/*\n"
        f"fs:WriteObject {SHOP}/*\nfs:CreateCommit {SHOP}/branch/*\nfs:CreateBranch {SHOP}/branch/*\n"
        f"fs:CreateTag {SHOP}/tag/*",
        fails=LochanError,
    ),
    "Repository.is_read_only": Case(lambda it: shop(it).is_read_only(), f"fs:ReadRepository {SHOP}"),
    "Repository.set_read_only": Case(lambda it: shop(it).set_read_only(), f"fs:UpdateRepository {SHOP}"),
    "Repository.set_metadata": Case(lambda it: shop(it).set_metadata({"a": "b"}), f"fs:UpdateRepository {SHOP}"),
    "Repository.stashes": Case(lambda it: shop(it).stashes(), f"fs:ReadBranch {MAIN}", hides=True),
    "Repository.workspaces": Case(lambda it: shop(it).workspaces(), f"fs:ReadWorkspace {MAIN}", hides=True),
    "Repository.hooks": Case(lambda it: shop(it).hooks(), f"fs:ReadRepository {SHOP}\nfs:ReadObject {SHOP}/*"),
    "Repository.check_hooks": Case(lambda it: shop(it).check_hooks(HOOKS), f"fs:ReadRepository {SHOP}"),
    "Repository.run_hooks": Case(
        lambda it: shop(it).run_hooks("pre-commit"),
        f"fs:ReadRepository {SHOP}\nfs:ReadObject {SHOP}/*\nfs:CreateCommit {MAIN}",
    ),
    "Repository.hook_runs": Case(lambda it: shop(it).hook_runs(), f"fs:ReadRepository {SHOP}\nfs:ReadObject {SHOP}/*"),
    "Repository.hook_run": Case(
        lambda it: shop(it).hook_run("2abc"),
        f"fs:ReadRepository {SHOP}\nfs:ReadObject {SHOP}/*",
        fails=NotFound,
    ),
    "Repository.hook_secret": Case(
        lambda it: shop(it).hook_secret("https://example.org"), f"fs:UpdateRepository {SHOP}"
    ),
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
    "Pool.load_body": Case(
        lambda it: logs(it).load_body(b'{"n": 8}\n'), f"fs:WriteObject {OBJECTS}*\nfs:CreateCommit {ROWS}"
    ),
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
    "Ref.presign": Case(lambda it: main(it).presign("raw/a.txt"), f"fs:ReadObject {MAIN}/object/raw/a.txt"),
    "Ref.stat_many": Case(
        lambda it: shop(it).ref("v1").stat_many(["raw/a.txt"]), f"fs:ReadObject {OLD}/object/raw/a.txt"
    ),
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
    "Ref.checkout": Case(
        lambda it: main(it).checkout("/nowhere", prefix="raw/"), f"fs:ReadObject {MAIN}/object/raw/*", local=True
    ),
    "Checkout.status": Case(lambda it: it.checkout("/nowhere").status(), "", local=True),
    "Checkout.pull": Case(lambda it: it.checkout("/nowhere").pull(), "", local=True),
    "Checkout.commit": Case(lambda it: it.checkout("/nowhere").commit("it"), "", local=True),
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
    "WritableRef.upload_archive": Case(
        lambda it: main(it).upload_archive(archive_head("a", 0) + ARCHIVE_END, "new"),
        f"fs:WriteObject {MAIN}/object/new*",
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
    "Branch.put_address": Case(
        lambda it: main(it).put_address("new", "nothing", b"x"), f"fs:WriteObject {MAIN}/object/new", fails=Refused
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
    "Workspace.all": Case(lambda it: workspace(it).all(), f"fs:CreateWorkspace {MAIN}"),
    "Workspace.revert": Case(lambda it: workspace(it).revert(), f"fs:CreateWorkspace {MAIN}"),
    "Workspace.commit": Case(lambda it: workspace(it).commit("it"), f"fs:CreateCommit {MAIN}"),
    "Workspace.drop": Case(lambda it: workspace(it).drop(), f"fs:CreateWorkspace {MAIN}"),
    "Access.users": Case(lambda it: it.access.users(), "auth:ListUsers user/ada\nauth:ReadUser user/ada", hides=True),
    "Access.user": Case(lambda it: it.access.user("ada"), "auth:ReadUser user/ada"),
    "Access.create_user": Case(lambda it: it.access.create_user("eve"), "auth:CreateUser user/eve"),
    "Access.delete_user": Case(lambda it: it.access.delete_user("ada"), "auth:DeleteUser user/ada"),
    "Access.set_disabled": Case(lambda it: it.access.set_disabled("ada"), "auth:DisableUser user/ada"),
    "Access.groups": Case(
        lambda it: it.access.groups(), "auth:ListGroups group/team\nauth:ReadGroup group/team", hides=True
    ),
    "Access.group": Case(lambda it: it.access.group("team"), "auth:ReadGroup group/team"),
    "Access.create_group": Case(lambda it: it.access.create_group("new"), "auth:CreateGroup group/new"),
    "Access.delete_group": Case(lambda it: it.access.delete_group("team"), "auth:DeleteGroup group/team"),
    "Access.add_member": Case(
        lambda it: it.access.add_member("team", "ada"), "auth:AddMember group/team\nauth:AddMember user/ada"
    ),
    "Access.remove_member": Case(
        lambda it: it.access.remove_member("team", "cy"), "auth:RemoveMember group/team\nauth:RemoveMember user/cy"
    ),
    "Access.attach_to_group": Case(
        lambda it: it.access.attach_to_group("spare", "team"),
        "auth:AttachPolicy policy/spare\nauth:AttachPolicy group/team",
    ),
    "Access.detach_from_group": Case(
        lambda it: it.access.detach_from_group("Analyst", "team"),
        "auth:DetachPolicy policy/Analyst\nauth:DetachPolicy group/team",
    ),
    "Access.rotate_key": Case(
        lambda it: it.access.rotate_key(_KEY[0]), "auth:CreateKey user/ada\nauth:RevokeKey user/ada"
    ),
    "Access.create_token": Case(lambda it: it.access.create_token(_KEY[0]), "auth:CreateToken user/ada"),
    "Access.keys": Case(lambda it: it.access.keys("ada"), "auth:ReadUser user/ada"),
    "Access.key": Case(lambda it: it.access.key(_KEY[0]), "auth:ReadUser user/ada"),
    "Access.create_key": Case(lambda it: it.access.create_key("ada"), "auth:CreateKey user/ada"),
    "Access.revoke_key": Case(lambda it: it.access.revoke_key(_KEY[0]), "auth:RevokeKey user/ada"),
    "Access.sessions": Case(lambda it: it.access.sessions(), "auth:ReadUser user/ada", hides=True),
    "Access.end_session": Case(lambda it: it.access.end_session(_SESSION[0]), "auth:EndSession user/ada"),
    "Access.end_sessions": Case(lambda it: it.access.end_sessions("ada"), "auth:EndSession user/ada"),
    "Access.identities": Case(lambda it: it.access.identities(), "auth:ReadUser user/ada", hides=True),
    "Access.link_identity": Case(lambda it: it.access.link_identity("ada", "oidc", "8"), "auth:LinkIdentity user/ada"),
    "Access.unlink_identity": Case(
        lambda it: it.access.unlink_identity("ada", "oidc", "7"), "auth:LinkIdentity user/ada"
    ),
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
    "Repository.uploads": Case(lambda it: shop(it).uploads(), f"fs:ReadRepository {SHOP}"),
    "Repository.snapshots": Case(lambda it: shop(it).snapshots(), "", local=True),
    "Repository.is_empty": Case(lambda it: shop(it).is_empty(), f"fs:ListObjects {SHOP}/branch/*"),
    "Ref.diff_tables": Case(lambda it: main(it).diff_tables("v1"), "", local=True),
    "Ref.list_table": Case(lambda it: main(it).list_table(), "", local=True),
    "Ref.snapshot": Case(lambda it: main(it).snapshot(), "", local=True),
    "WritableRef.create_upload": Case(lambda it: main(it).create_upload("big"), f"fs:WriteObject {MAIN}/object/big"),
    "Upload.show": Case(lambda it: upload(it).show(), f"fs:ReadObject {MAIN}/object/big", fails=NotFound),
    "Upload.parts": Case(lambda it: upload(it).parts(), f"fs:ReadObject {MAIN}/object/big", fails=NotFound),
    "Upload.put_part": Case(
        lambda it: upload(it).put_part(1, b"x"), f"fs:WriteObject {MAIN}/object/big", fails=NotFound
    ),
    "Upload.copy_part": Case(
        lambda it: upload(it).copy_part(1, main(it), "b.txt"),
        f"fs:WriteObject {MAIN}/object/big\nfs:ReadObject {MAIN}/object/b.txt",
        fails=NotFound,
    ),
    "Upload.complete": Case(lambda it: upload(it).complete([]), f"fs:WriteObject {MAIN}/object/big", fails=LochanError),
    "Upload.abort": Case(lambda it: upload(it).abort(), f"fs:WriteObject {MAIN}/object/big", fails=NotFound),
}
NAMES = sorted(name for name in CASES if name not in {f"{verb.noun}.{verb.name}" for verb in VERBS if verb.own})
WITH_NEEDS = [name for name in NAMES if CASES[name].needs]


_READS = {f"{verb.noun}.{verb.name}" for verb in VERBS if verb.kind is Kind.READ}


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
    await lake.access.link_identity("ada", "oidc", "7")
    signed_in = SignIn("ada", "key", _KEY[0])
    _SESSION[:] = [(await open_session(opened.open_access(), signed_in, actor=ADMIN)).id]
    for name in ("spare", "spare2"):
        await lake.access.put_policy(name, STATEMENTS)
    await lake.access.attach("spare2", "ada")
    await lake.access.create_user("cy")
    await lake.access.create_group("team")
    await lake.access.add_member("team", "cy")
    await lake.access.attach_to_group("Analyst", "team")
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
    proposed = await made.create_pull("dev", title="dev")
    await proposed.comment("look at this", path="d.txt")
    _PULL[:] = [proposed.id]
    await branch.put("staged.txt", b"st")
    await lake.create_subscription("https://example.org/", "shop")
    pool = await lake.create_pool("logs", key="n")
    await pool.load([{"n": 1}, {"n": 2}], "one")
    await pool.load([{"n": 1}, {"n": 3}], "two")
    gone = await lake.create_repository("gone")
    _GONE[:] = [(await gone.show()).id]
    await gone.delete()
    await lake.close()


class Owned:
    """A copy of the sample, open, as its owner has it."""

    def __init__(self, opened: OpenLake) -> None:
        self._opened = opened
        self.lake = Lake(Session(opened, ADMIN))
        self._users = count()

    async def served(self, statements: Sequence[tuple[str, str]]) -> Lake:
        """The lake as a new user may use it."""
        user = f"bob{next(self._users)}"
        await self.lake.access.create_user(user)
        if statements:
            written = [{"effect": "allow", "actions": one, "resources": on} for one, on in statements]
            await self.lake.access.put_policy(f"{user}s", json.dumps({"statements": written}).encode())
            await self.lake.access.attach(f"{user}s", user)
        return serve_lake(self.lake, Caller(user, "test", "there", self._opened.clock.boot()), _note, _note).lake


@asynccontextmanager
async def owned(sample: Path, folder: Path) -> AsyncIterator[Owned]:
    shutil.copytree(sample, folder)
    opened = await OpenLake.open(LocalStore(str(folder)), world=LakeOptions(open_store=lambda _: LocalStore("/")))
    try:
        yield (found := Owned(opened))
    finally:
        await found.lake.close()


class Shared(NamedTuple):
    """One copy for all tests that change nothing in it but the users that they add."""

    runner: asyncio.Runner
    owned: Owned


@pytest.fixture(scope="module")
def shared(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with asyncio.Runner() as runner:
        context = owned(sample, tmp_path_factory.mktemp("shared") / "lake")
        yield Shared(runner, runner.run(context.__aenter__()))
        runner.run(context.__aexit__(None, None, None))


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
def test_without_rights_nothing_is_done(name: str, shared: Shared) -> None:
    shared.runner.run(_changes_nothing(CASES[name], shared.owned, []))


async def _changes_nothing(case: Case, owned: Owned, statements: Sequence[tuple[str, str]]) -> None:
    bobs = await owned.served(statements)
    before = await _events(owned.lake)
    await _refused(case, bobs)
    assert await _events(owned.lake) == before


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
def test_with_exactly_its_rights_it_is_done(name: str, shared: Shared, sample: Path, tmp_path: Path) -> None:
    async def run(owned: Owned) -> None:
        case = CASES[name]
        more = [("fs:WriteObject", f"{MAIN}/object/tx.txt")] if name == "Branch.transaction" else []
        await _done(case, await owned.served(_pairs(case.needs) + more))

    async def run_alone() -> None:
        async with owned(sample, tmp_path / "lake") as own:
            await run(own)

    if name in _READS:
        shared.runner.run(run(shared.owned))
    else:
        asyncio.run(run_alone())


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
def test_each_of_its_rights_is_needed(name: str, shared: Shared) -> None:
    case = CASES[name]
    needed = _pairs(case.needs)
    for left_out in needed:
        rest = [each for each in needed if each != left_out]
        shared.runner.run(_changes_nothing(case, shared.owned, rest))
