"""How each operation is asked: one request for each route of the API and of S3, and for each source of a query.

Texts are filled with the names of the cell's scope. A request can be sent again and again: it names what is there
already, or what is not there. One that is `final` is sent by those who may only about what does not exist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pyarrow as pa

from lochan.query.syntax.sources import LAKE_META, POOL_META
from lochan.server.api.routes import ROUTES
from lochan.server.gateway.operations import buckets
from tests.integration.matrix.places import Scope

JSON = "application/json"


class Ask(NamedTuple):
    level: str = ""  # of the scopes; empty: as the names in its path say
    query: Mapping[str, str] = {}
    body: Any = None  # bytes, or what becomes JSON
    names: Mapping[str, str] = {}  # in its path, other than those of the scope
    marker: str = ""  # stands in the answer of whoever is allowed, and of nobody else
    final: bool = False
    media: str = JSON
    headers: Mapping[str, str] = {}


def _arrow() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [5]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


_ROWS = _arrow()


class Sent(NamedTuple):
    door: str  # api or s3
    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    media: str = ""
    headers: Mapping[str, str] = {}


_CLEAN = "clean branch"
_AT = {"path": "{path}"}
_OBJECT = {"object": "{path}"}
_SOURCE = {"repository_name": "{repository}", "name": "dev"}
_URL = "s3://matrix-no-such-bucket/x/"
_IMPORT = {"url": _URL, "prefix": "{folder}"}
_STATEMENT = [{"effect": "allow", "resource": "*", "action": ["fs:ReadObject"]}]
_RULES = {"default_retention_days": 9, "branches": []}
_USER, _GROUP = {"name": "bea"}, {"name": "crew"}
_POLICY = {"name": "Extra"}
_NO_DUMP = {"commits_meta_range_id": "", "tags_meta_range_id": "", "branches_meta_range_id": ""}
_STAGED = {"physical_address": "lochan://nothing", "checksum": "0" * 32, "size_bytes": 1}
_PUT = {"date": "2026-01-01T00:00:00Z", "checksums": {}}
_PART = {"physical_address": "lochan://{repository}/{ref}/{path}"}


def _q(text: str, **more: Any) -> Ask:
    return Ask(body={"query": text}, **more)


API: Mapping[str, Ask] = {
    # repositories
    "listRepositories": Ask("repository", marker='"{repository}"'),
    "Lake.repositories": Ask("repository", marker='"{repository}"'),
    "listPools": Ask("repository", marker='"{pool}"'),
    "Lake.pools": Ask("repository", marker='"{pool}"'),
    "createRepository": Ask(body={"name": "other"}),
    "createPool": Ask(body={"name": "other"}),
    "Lake.create_repository": Ask(body={"name": "other"}),
    "Lake.create_pool": Ask(body={"name": "other"}),
    "dumpStatus": Ask(query={"task_id": "x"}),
    "restoreStatus": Ask(query={"task_id": "x"}),
    "restoreSubmit": Ask(body=_NO_DUMP),
    "restoreRefs": Ask(body=_NO_DUMP),
    "setRepositoryMetadata": Ask(body={"metadata": {"a": "b"}}),
    "deleteRepositoryMetadata": Ask(body={"keys": ["a"]}),
    "setBranchProtectionRules": Ask(body=[{"pattern": "locked"}], final=True),
    "setGcRules": Ask(body=_RULES),
    "deleteRepository": Ask(final=True),
    "Repository.delete": Ask(final=True),
    "Repository.rename": Ask(body={"to": "other"}),
    "Repository.protect": Ask(body={"pattern": "kept"}),
    "Repository.unprotect": Ask(query={"pattern": "not-kept"}),
    "Repository.set_protections": Ask(body={"rules": []}, final=True),
    "Repository.set_read_only": Ask(body={"on": True}, final=True),
    "Repository.set_metadata": Ask(body={"values": {"a": "b"}}),
    "Repository.hook_secret": Ask(body={"url": "https://hooks.example/x"}),
    "Repository.check_hooks": Ask(body={"text": "name: x"}),
    "Repository.run_hooks": Ask(body={"event": "pre-commit", "branch": "main"}),
    "Repository.hook_run": Ask(names={"id": "x"}),
    "Repository.render_lifecycle": Ask(query={"prefix": "x"}),
    "Repository.render_policy": Ask(query={"prefixes": "x"}),
    "GarbageCollection.set_rules": Ask(body={"rules": []}),
    "GarbageCollection.abandon_jobs": Ask(body={"jobs": ["x"]}),
    "Storage.coalesce": Ask(body={"ref": "main", "path": "data/a.csv"}),
    "deletePool": Ask(final=True),
    "renamePool": Ask(body={"to": "other"}),
    "Lake.deleted_repositories": Ask(marker='"erased"'),
    "Lake.restore_repository": Ask(body={"to": "other"}, names={"name": "erased"}),
    "DeletedCollection.plan": Ask(body={"names": ["erased"]}),
    "DeletedCollection.sweep": Ask(body={"names": ["erased"]}, final=True),
    "DeletedCollection.run": Ask(final=True),
    # the lake
    "Lake.create_subscription": Ask(body={"url": "https://hooks.example/x"}, final=True),
    "Lake.delete_subscription": Ask(names={"id": "x"}),
    "Lake.dead_letters": Ask(names={"id": "x"}),
    "Lake.redeliver": Ask(names={"id": "x"}),
    "Lake.subscriptions": Ask(marker="hooks.example"),
    "Lake.upkeep": Ask("repository", body={"pools": ["{pool}"]}),
    "Lake.run_upkeep": Ask(final=True),
    "Lake.set_default_rules": Ask(body={"rules": {}}, final=True),
    "Lake.rebuild": Ask(final=True),
    "Lake.scrub": Ask(body={"seconds": 1}),
    "Lake.job": Ask(names={"id": "x"}),
    "Lake.events": Ask("repository", query={"repository": "{repository}", "last": "2"}),
    "streamEvents": Ask("repository", query={"repository": "{repository}", "last": "2", "follow": "false"}),
    "Lake.preview_load": Ask(body=b"a,b\n1,2\n", media="application/octet-stream"),
    "Lake.save_query": Ask(body={"text": "from rows"}, names={"name": "mine"}),
    "Lake.delete_query": Ask(names={"name": "not-mine"}),
    "postStatsEvents": Ask(body={"events": []}),
    "Mcp": Ask(body={"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    "oidcLogin": Ask(),
    "oidcCallback": Ask(),
    "login": Ask(body={"access_key_id": "LKIANOBODYNOBODY0000", "secret_access_key": "x" * 40}),
    "setup": Ask(body={"username": "x"}),
    "createAdministrator": Ask(body={"token": "x"}),
    "PageFile": Ask(names={"name": "index.html"}),
    "getQuery": Ask(names={"id": "x"}),
    "cancelQuery": Ask(names={"id": "x"}),
    "GetTask": Ask(names={"id": "x"}),
    "CancelTask": Ask(names={"id": "x"}),
    # branches and tags
    "createBranch": Ask("existing branch", body={"name": "{ref}", "source": "dev"}),
    "Repository.create_branch": Ask("existing branch", body={"name": "{ref}", "source": "dev"}),
    "createPoolBranch": Ask(body={"name": "made"}),
    "deletePoolBranch": Ask(names={"branch": "made"}),
    "deleteBranch": Ask(final=True),
    "Repository.delete_branch": Ask("branch", names={"name": "{ref}"}, final=True),
    "Repository.restore_branch": Ask("branch", names={"name": "{ref}"}),
    "Branch.rename": Ask(body={"to": "renamed"}, final=True),
    "createTag": Ask(body={"id": "made", "ref": "dev"}),
    "Repository.create_tag": Ask(body={"name": "made", "target": "dev"}),
    "deleteTag": Ask(names={"tag": "made"}),
    "Repository.delete_tag": Ask(names={"name": "made"}),
    "listTags": Ask("repository", marker='"v1"'),
    "Repository.tags": Ask("repository", marker='"v1"'),
    "getTag": Ask("repository", names={"tag": "v1"}),
    "Repository.show_tag": Ask("repository", names={"name": "v1"}),
    "Repository.restore_history": Ask(body={"source": "other", "branches": {"main": "f" * 64}}),
    "Repository.compare_branches": Ask(query={"base": "main"}),
    # commits
    "Repository.merge_base": Ask("branch", query={"left": "{ref}", "right": "dev"}),
    "Repository.merge_bases": Ask("branch", query={"left": "{ref}", "right": "dev"}),
    "Repository.bisect": Ask("branch", body={"good": ["{ref}"], "bad": "dev"}),
    "findMergeBase": Ask("branch"),
    "Ref.diff_objects": Ask("repository", names={"repository": "{pool}", "ref": "main", "right": "dev"}),
    "Ref.diff_count": Ask(query={"prefix": "data/"}),
    "Ref.diff_folders": Ask(query={"prefix": "data/"}),
    "Ref.blame": Ask("object", query=_AT),
    "Ref.blame_folder": Ask("object", query={"prefix": "{folder}"}),
    "commit": Ask(body={"message": "m"}),
    "Branch.commit": Ask(body={"message": "m"}),
    "mergeIntoBranch": Ask(_CLEAN, body={}),
    "Branch.merge": Ask(_CLEAN, body={"source": "dev"}),
    "Branch.try_merge": Ask(_CLEAN, body={"source": "dev"}),
    "mergePoolBranch": Ask(body={"source": "dev"}, names={"branch": "main"}),
    "revertBranch": Ask(_CLEAN, body={"ref": "dev"}),
    "cherryPick": Ask(_CLEAN, body={"ref": "dev"}),
    "Branch.revert": Ask(_CLEAN, body={"ref": "dev"}),
    "Branch.cherry_pick": Ask(_CLEAN, body={"ref": "dev"}),
    "revertPoolCommit": Ask(body={"ref": "dev"}, names={"branch": "main"}),
    "hardResetBranch": Ask(_CLEAN, query={"ref": "dev"}, final=True),
    "Branch.rebase": Ask(_CLEAN, body={"onto": "dev"}, final=True),
    "resetBranch": Ask(body={"type": "object", "path": "data/never"}),
    "Branch.reset": Ask(body={"paths": ["data/never"]}),
    "Branch.stash": Ask(final=True),
    "Branch.pop_stash": Ask(body={"id": "{stash}"}, final=True),
    "Branch.drop_stash": Ask(body={"id": "{stash}"}, final=True),
    "Repository.stashes": Ask(marker='"{stash}"'),
    "Ref.log+path": Ask("object", query=_AT),
    "Ref.log+prefix": Ask("object", query={"prefix": "{folder}"}),
    "Ref.log_graph+path": Ask("object", query=_AT),
    "Ref.log_graph+prefix": Ask("object", query={"prefix": "{folder}"}),
    "Repository.bisect+skipped": Ask("repository", body={"good": ["main"], "bad": "main", "skipped": ["dev"]}),
    "Branch.merge+staged": Ask(_CLEAN, body={"source": "dev", "commit_staged": "m"}, final=True),
    "Branch.revert+staged": Ask(_CLEAN, body={"ref": "dev", "commit_staged": "m"}, final=True),
    "Branch.cherry_pick+staged": Ask(_CLEAN, body={"ref": "dev", "commit_staged": "m"}, final=True),
    "Branch.reset+to": Ask(_CLEAN, body={"to": "dev"}, final=True),
    # objects
    "statObject": Ask("object", query=_AT),
    "getUnderlyingProperties": Ask("object", query=_AT),
    "getObject": Ask("object", query=_AT, marker="body of"),
    "Ref.open": Ask("object", query=_AT),
    "Ref.stat": Ask("object", query=_AT),
    "Ref.presign": Ask("object", query=_AT),
    "Ref.details": Ask("object", query=_AT),
    "Ref.stat_many": Ask("object", body={"paths": ["{path}"]}),
    "Ref.stream": Ask("object", query=_AT, marker="body of"),
    "Ref.read": Ask("object", query=_AT, marker="body of"),
    "listObjects": Ask("object", query={"prefix": "{folder}"}, marker="{path}"),
    "Ref.list": Ask("object", query={"prefix": "{folder}"}, marker="{path}"),
    "Ref.list_page": Ask("object", query={"prefix": "{folder}"}, marker="{path}"),
    "Ref.list_pages": Ask("object", query={"prefix": "{folder}"}, marker="{path}"),
    "WritableRef.status_count": Ask("written object", query={"prefix": "{folder}"}),
    "WritableRef.status_folders": Ask("written object", query={"prefix": "{folder}"}),
    "uploadObject": Ask("written object", query=_AT, body=b"body of {path}", media="application/octet-stream"),
    "getPhysicalAddress": Ask("written object", query=_AT),
    "putPhysicalAddress": Ask(
        "written object", query={**_AT, "token": "x"}, body=b"x", media="application/octet-stream"
    ),
    "linkPhysicalAddress": Ask(
        "written object",
        query=_AT,
        body={"staging": {"physical_address": "s3://nowhere/x#token=x"}, "checksum": "0" * 32, "size_bytes": 1},
    ),
    "stageObject": Ask("written object", query=_AT, body=_STAGED),
    "createPresignMultipartUpload": Ask("written object", query=_AT),
    "uploadPart": Ask("written object", query=_AT, body=_PART),
    "putPart": Ask("written object", query=_AT, body=b"x", media="application/octet-stream"),
    "uploadPartCopy": Ask(
        "written object",
        query=_AT,
        body={**_PART, "copy_source": {"repository": "{repository}", "ref": "dev", "path": "data/a.csv"}},
    ),
    "completePresignMultipartUpload": Ask(
        "written object", query=_AT, body={**_PART, "parts": [{"part_number": 1, "etag": "x"}]}
    ),
    "abortPresignMultipartUpload": Ask("written object", query=_AT, body=_PART, final=True),
    "updateObjectUserMetadata": Ask("written object", query=_AT, body={"set": {"a": "b"}}),
    "WritableRef.put": Ask("written object", query=_AT, body=b"body of {path}", media="application/octet-stream"),
    "WritableRef.upload_archive": Ask(
        "written object", query={"to": "{folder}"}, body=b"no archive", media="application/octet-stream"
    ),
    "WritableRef.create_upload": Ask("written object", body=_AT),
    "WritableRef.delete": Ask("written object", body={"paths": ["{path}"]}, final=True),
    "WritableRef.delete_if": Ask("written object", body={**_AT, "if_match": "no-such-etag"}),
    "WritableRef.delete_folder": Ask("written object", body={"prefix": "{folder}"}, final=True),
    "deleteObject": Ask("written object", query=_AT, final=True),
    "deleteObjects": Ask("written object", body={"paths": ["{path}"]}, final=True),
    "copyObject": Ask(
        "written object", query={"dest_path": "{path}"}, body={"src_path": "data/a.csv", "src_ref": "dev"}
    ),
    "WritableRef.copy": Ask("written object", body={"source": _SOURCE, "path": "data/a.csv", "to": "{path}"}),
    "WritableRef.copy_folder": Ask("written object", body={"source": _SOURCE, "prefix": "data/", "to": "{folder}"}),
    "WritableRef.move": Ask("written object", body={"path": "{path}", "to": "{path}"}),
    "WritableRef.move_folder": Ask("written object", body={"prefix": "{folder}", "to": "{folder}"}),
    "Branch.address": Ask("written object", body=_AT),
    "Branch.put_address": Ask(
        "written object", query={**_AT, "token": "x"}, body=b"x", media="application/octet-stream"
    ),
    "Branch.link_address": Ask("written object", body={**_AT, "token": "x"}),
    "Branch.link": Ask("written object", body={**_AT, "url": f"{_URL}a"}, final=True),
    "Branch.import_files": Ask("written object", body={"sources": [_IMPORT]}, final=True),
    "Branch.try_import": Ask("written object", body={"sources": [_IMPORT]}, final=True),
    "Branch.ingest": Ask("written object", body={"source": _IMPORT}, final=True),
    "Branch.ingest_diff": Ask("written object", body={"source": _IMPORT}, final=True),
    "importStart": Ask(
        "written object",
        body={
            "paths": [{"type": "common_prefix", "path": _URL, "destination": "{folder}"}],
            "commit": {"message": "m"},
        },
        final=True,
    ),
    "importStatus": Ask(query={"id": "x"}),
    "importCancel": Ask(query={"id": "x"}),
    "Repository.uploads": Ask(marker='"ref":"main","path":"data/a.csv"'),
    "Upload.show": Ask("written object", query=_OBJECT),
    "Upload.parts": Ask("written object", query=_OBJECT),
    "Upload.put_part": Ask("written object", query=_OBJECT, body=b"part", media="application/octet-stream"),
    "Upload.copy_part": Ask("written object", query=_OBJECT, body={"source": _SOURCE, "path": "data/a.csv"}),
    "Upload.complete": Ask(
        "written object", query=_OBJECT, body={"parts": [{"number": 7, "etag": "0" * 32, "size": 1, **_PUT}]}
    ),
    "Upload.abort": Ask("written object", query=_OBJECT, names={"upload": "no-such-upload"}),
    # workspaces
    "Branch.workspace": Ask(),
    "Workspace.add": Ask(body={"globs": ["data/*"]}),
    "Workspace.revert": Ask(body={"globs": ["data/never"]}),
    "Workspace.commit": Ask(body={"message": "m"}, final=True),
    "Workspace.drop": Ask(final=True),
    "Repository.workspaces": Ask(marker='"{workspace}"'),
    # pull requests
    "Repository.pulls": Ask(marker="title of the request"),
    "listPullRequests": Ask(marker="title of the request"),
    "Repository.create_pull": Ask("branch", body={"source": "dev", "target": "{ref}", "title": "t"}),
    "createPullRequest": Ask("branch", body={"title": "t", "source_branch": "dev", "destination_branch": "{ref}"}),
    "PullRequest.update": Ask(body={"title": "title of the request"}),
    "updatePullRequest": Ask(body={"title": "title of the request"}),
    "PullRequest.close": Ask(final=True),
    "PullRequest.review": Ask(body={"verdict": "comment", "text": "x"}),
    "PullRequest.dismiss_review": Ask(body={"user": "nobody-at-all"}),
    "PullRequest.comment": Ask(body={"text": "x"}),
    "PullRequest.edit_comment": Ask(body={"text": "x"}, names={"comment": "no-such"}),
    "PullRequest.resolve_thread": Ask(names={"thread": "no-such"}),
    "PullRequest.check": Ask(body={"check": "c", "status": "passed"}),
    "PullRequest.resolve": Ask(body={"choices": [{"path": "data/a.csv", "take": "source"}]}, final=True),
    "PullRequest.merge": Ask(final=True),
    "mergePullRequest": Ask(final=True),
    # pools
    "loadRows": Ask(query={"format": "ndjson"}, body=b'{"x":', media="application/x-ndjson"),
    "deleteRows": Ask(body={"where": "x == 77"}),
    "deleteDataObjects": Ask(body={"ids": ["no-such"]}),
    "compactPool": Ask(body={}),
    "tryCompactPool": Ask(body={}),
    "Pool.load": Ask(body=_ROWS, media="application/vnd.apache.arrow.stream", final=True),
    "Pool.load_body": Ask(body=b'{"x":', media="application/octet-stream"),
    "Pool.delete_rows": Ask(body={"where": "x == 77"}),
    "Pool.delete_objects": Ask(body={"ids": ["no-such"]}),
    "Pool.query": Ask(body={"text": "count()"}),
    "query": Ask("repository", body={"query": "from {pool} | count()"}),
    "Lake.query": Ask("repository", body={"text": "from {pool} | count()"}),
    "Lake.explain": Ask("repository", body={"text": "from {pool} | count()"}),
    "Lake.diff_rows": Ask("repository", body={"left": "{pool}@main", "right": "{pool}@dev"}),
    # users, groups, policies
    "Access.users": Ask(marker='"bea"'),
    "listUsers": Ask(marker='"bea"'),
    "Access.create_user": Ask(body={"name": "bea"}),
    "createUser": Ask(body={"id": "bea"}),
    "Access.user": Ask(names=_USER, marker='"bea"'),
    "Access.delete_user": Ask(names=_USER, final=True),
    "deleteUser": Ask(final=True),
    "Access.set_disabled": Ask(body={"on": False}, names=_USER),
    "Access.create_key": Ask(body={"id": "{key}", "secret": "s" * 40}),
    "createCredentials": Ask(final=True),
    "Access.key": Ask(names={"id": "{key}"}, marker='"bea"'),
    "Access.rotate_key": Ask(names={"id": "{key}"}, final=True),
    "Access.create_token": Ask(names={"id": "{key}"}),
    "Access.revoke_key": Ask(names={"id": "{key}"}, final=True),
    "deleteCredentials": Ask(final=True),
    "Access.sessions": Ask(marker='"bea"'),
    "Access.end_session": Ask(names={"id": "{session}"}, final=True),
    "Access.end_sessions": Ask(names=_USER),
    "Access.identities": Ask(marker='"bea"'),
    "Access.link_identity": Ask(body={"source": "oidc", "subject": "8"}),
    "Access.unlink_identity": Ask(query={"source": "oidc", "subject": "7"}, final=True),
    "Access.groups": Ask(marker='"crew"'),
    "listGroups": Ask(marker='"crew"'),
    "Access.group": Ask(names=_GROUP, marker='"crew"'),
    "Access.create_group": Ask(body={"name": "crew"}),
    "createGroup": Ask(body={"id": "crew"}),
    "Access.delete_group": Ask(names=_GROUP, final=True),
    "deleteGroup": Ask(final=True),
    "Access.remove_member": Ask(final=True),
    "deleteGroupMembership": Ask(final=True),
    "Access.policies": Ask(marker='"Extra"'),
    "listPolicies": Ask(marker='"Extra"'),
    "Access.policy": Ask(names=_POLICY, marker='"Extra"'),
    "Access.put_policy": Ask(
        body=b"statements: [{effect: allow, actions: 'fs:ReadObject', resources: '*'}]",
        names=_POLICY,
        media="application/octet-stream",
        final=True,
    ),
    "createPolicy": Ask(body={"id": "Newer", "statement": _STATEMENT}, final=True),
    "updatePolicy": Ask(body={"id": "Extra", "statement": _STATEMENT}, final=True),
    "Access.delete_policy": Ask(names=_POLICY, final=True),
    "deletePolicy": Ask(final=True),
    "Access.attach": Ask(final=True),
    "attachPolicyToUser": Ask(final=True),
    "Access.detach": Ask(final=True),
    "detachPolicyFromUser": Ask(final=True),
    "Access.attach_to_group": Ask(final=True),
    "attachPolicyToGroup": Ask(final=True),
    "Access.detach_from_group": Ask(final=True),
    "detachPolicyFromGroup": Ask(final=True),
    "Access.can": Ask(query={"action": "fs:ReadObject", "resource": "repository/shop"}),
    "createToken": Ask(body={}),
}
NAMES = {
    "user": "bea",
    "userId": "bea",
    "group": "crew",
    "groupId": "crew",
    "policy": "Extra",
    "policyId": "Extra",
    "accessKeyId": "{key}",
    "tag": "v1",
    "branch": "{ref}",
    "destinationBranch": "{ref}",
    "sourceRef": "dev",
    "leftRef": "{ref}",
    "rightRef": "dev",
    "right": "dev",
    "commitId": "{ref}",
    "number": "1",
    "partNumber": "1",
    "uploadId": "{upload}",
    "pull_request": "{pull}",
    "view": "x",
    "run_id": "x",
    "hook_run_id": "x",
}
_DELETION = b"<Delete><Object><Key>{ref}/{path}</Key></Object></Delete>"
_COPY = {"x-amz-copy-source": "/{repository}/dev/data/a.csv"}
_RENAME = {"x-amz-rename-source": "/{repository}/{ref}/{path}"}
_COMPLETE = (
    b"<CompleteMultipartUpload><Part><PartNumber>7</PartNumber><ETag>none</ETag></Part></CompleteMultipartUpload>"
)
_B, _K = "/{repository}", "/{repository}/{ref}/{path}"


class S3Ask(NamedTuple):
    method: str
    path: str
    query: str = ""
    level: str = "repository"
    headers: Mapping[str, str] = {}
    body: bytes = b""
    marker: str = ""
    final: bool = False


S3: Mapping[str, S3Ask] = {
    "ListBuckets": S3Ask("GET", "/", marker="<Name>{repository}</Name>"),
    "HeadBucket": S3Ask("HEAD", _B),
    "CreateBucket": S3Ask("PUT", "/other", level="lake"),
    "DeleteBucket": S3Ask("DELETE", _B, final=True),
    "GetBucketLocation": S3Ask("GET", _B, "location="),
    "GetBucketVersioning": S3Ask("GET", _B, "versioning="),
    **{each.operation: S3Ask("GET", _B, f"{name}=") for name, each in buckets.OF_BUCKETS.items()},
    **{each.operation: S3Ask("GET", _K, f"{name}=", "object") for name, each in buckets.OF_OBJECTS.items()},
    "ListObjects": S3Ask("GET", _B, "prefix={ref}%2F{folder}", "object", marker="{path}</Key>"),
    "ListObjectsV2": S3Ask("GET", _B, "list-type=2&prefix={ref}%2F{folder}", "object", marker="{path}</Key>"),
    "ListObjectVersions": S3Ask("GET", _B, "prefix={ref}%2F{folder}&versions=", "object", marker="{path}</Key>"),
    "ListMultipartUploads": S3Ask("GET", _B, "prefix={ref}%2F{folder}&uploads=", "written object"),
    "GetObject": S3Ask("GET", _K, "", "object", marker="body of"),
    "HeadObject": S3Ask("HEAD", _K, "", "object"),
    "GetObjectAttributes": S3Ask("GET", _K, "attributes=", "object", {"x-amz-object-attributes": "ETag"}),
    "ListParts": S3Ask("GET", _K, "uploadId={upload}", "written object"),
    "PutObject": S3Ask("PUT", _K, "", "written object", body=b"body of {path}"),
    "PostObject": S3Ask("POST", _B, "", "written object", {"key": "{ref}/{path}"}),  # in its form
    "CopyObject": S3Ask("PUT", _K, "", "written object", _COPY),
    "RenameObject": S3Ask("PUT", _K, "renameObject=", "written object", _RENAME),
    "DeleteObject": S3Ask("DELETE", _K, "", "written object", final=True),
    "DeleteObjects": S3Ask("POST", _B, "delete=", "written object", body=_DELETION, final=True),
    "CreateMultipartUpload": S3Ask("POST", _K, "uploads=", "written object"),
    "UploadPart": S3Ask("PUT", _K, "partNumber=1&uploadId={upload}", "written object", body=b"part"),
    "UploadPartCopy": S3Ask("PUT", _K, "partNumber=1&uploadId={upload}", "repository", _COPY),
    "CompleteMultipartUpload": S3Ask("POST", _K, "uploadId={upload}", "written object", body=_COMPLETE),
    "AbortMultipartUpload": S3Ask("DELETE", _K, "uploadId=no-such-upload", "written object"),
}

_ON_POOLS = ("objects", "partitions", "indexes")
_ON_REFS = ("entries", "ranges", "log", "rawlog", "changes", "sizes", "growth", "staged", "lineage")
_ROWS_OF_LAKE = {
    "pools": '"{pool}"',
    "repositories": '"{repository}"',
    "branches": '"{repository}"',
    "tags": '"{repository}"',
    "users": '"bea"',
    **dict.fromkeys(("jobs", "joblog", "plans", "usage", "lineage", "audit"), '"repository":"{repository}"'),
}
# Of all that cells ask, also about what is not there, there are rows; of what was changed, only where it is.
_WHERE = {"audit": " | client == 'python' | count() by repository"}


def _sources() -> Iterator[tuple[str, Ask]]:
    yield "from-rows", _q("from {pool} | count()", level="repository")
    yield "from-file", _q("from {repository}@{ref}/{path} | count()", level="object")
    yield "from-folder", _q("from {repository}@{ref}/{folder}* | count()", level="object")
    for meta in POOL_META:
        if meta in _ON_POOLS:
            yield f"from-rows:{meta}", _q(f"from {{pool}}@main:{meta} | count()", level="repository")
        elif meta in _ON_REFS:
            yield f"from-repo:{meta}", _q(f"from {{repository}}@{{ref}}:{meta} | count()", level="ref")
        else:
            yield f"from-repo:{meta}", _q(f"from {{repository}}:{meta} | count()", level="repository")
    for meta in LAKE_META:
        text = f"from :{meta}{_WHERE.get(meta, '')}"
        yield (
            f"from-:{meta}",
            _q(text, level="lake" if meta == "users" else "repository", marker=_ROWS_OF_LAKE.get(meta, "")),
        )


SOURCES: Mapping[str, Ask] = dict(_sources())
_ROUTES = {row.name.replace(" ", "-"): row for row in ROUTES}
UNSUPPORTED = frozenset(
    name for name in _ROUTES if name.partition("-")[2].startswith("/") and not name.startswith("Page")
)
NOT_OF_REFS = ("POST", "PUT", "PATCH", "DELETE")


class Request:
    """One operation, to be asked in any scope."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._s3 = S3.get(id.removeprefix("S3.")) if id.startswith("S3.") else None
        self._row = None if self._s3 else _ROUTES["query" if id in SOURCES else id.partition("+")[0]]
        self._ask = Ask() if self._s3 else SOURCES.get(id) or API.get(id, Ask())
        known = self._s3 or self._ask
        self.marker, self.final, self.method = known.marker, known.final, self._method()
        self.level = known.level or self._level()

    def _method(self) -> str:
        if self._s3:
            return self._s3.method
        assert self._row is not None
        return self._row.method

    def _level(self) -> str:
        assert self._row is not None
        names = set(re.findall(r"\{(\w+)", self._row.path)) - self._ask.names.keys()
        if names & {"branch", "ref", "leftRef", "commitId"}:
            return "branch" if self.method in NOT_OF_REFS or "branch" in names or "Writable" in self.id else "ref"
        return "repository" if names & {"repository", "pool"} else "lake"

    def fill_marker(self, scope: Scope, made: Mapping[str, str]) -> str:
        return _Names(scope, made).fill(self.marker)

    def at(self, scope: Scope, made: Mapping[str, str]) -> Sent:
        """`made`: ids of what was made in each repository, by `repository.what`."""
        names = _Names(scope, made)
        if self._s3:
            ask = self._s3
            headers = {name: names.fill(text) for name, text in ask.headers.items()}
            query = names.fill(ask.query).replace("/", "%2F")
            return Sent("s3", ask.method, names.fill(ask.path), query, names.fill_bytes(ask.body), "", headers)
        row, asked = self._row, self._ask
        assert row is not None
        path = re.sub(
            r"\{(\w+)(?::\w+)?\}",
            lambda found: quote(names.fill({**NAMES, **asked.names}.get(found[1], f"{{{found[1]}}}")), safe="+"),
            row.path,
        )
        query = urlencode({name: names.fill(text) for name, text in asked.query.items()})
        body = asked.body
        if isinstance(body, bytes):
            data: bytes | None = names.fill_bytes(body)
        elif body is None and row.method in ("GET", "DELETE", "HEAD"):
            data = None
        else:
            data = names.fill_json(json.dumps({} if body is None else body)).encode()
        return Sent("api", row.method, path, query, data, asked.media if data is not None else "")


class _Names:
    def __init__(self, scope: Scope, made: Mapping[str, str]) -> None:
        self._known = {
            "repository": scope.repository,
            "ref": scope.ref,
            "path": scope.path,
            "folder": scope.folder,
            "pool": scope.pool,
            "key": made["key"],
            "session": made["session"],
        }
        home = scope.repository if f"{scope.repository}.pull" in made else "shop"
        for what in ("pull", "upload", "stash", "workspace"):
            self._known[what] = made[f"{home}.{what}"] if not scope.absent or what == "pull" else "999"

    def fill(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: self._known[found[1]], text)

    def fill_bytes(self, data: bytes) -> bytes:
        return data if data == b"" else re.sub(rb"\{(\w+)\}", lambda f: self._known[f[1].decode()].encode(), data)

    def fill_json(self, text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: json.dumps(self._known[found[1]])[1:-1], text)


def operations() -> list[str]:
    """Every route and every source that the code has; first those that need branches without staged changes."""
    api = [name for name in _ROUTES if name not in UNSUPPORTED]
    found = [*api, *(f"S3.{name}" for name in _s3_names()), *SOURCES]
    return sorted(
        [*found, *(name for name in API if "+" in name)], key=lambda name: API.get(name, Ask()).level != _CLEAN
    )


def _s3_names() -> list[str]:
    from lochan.server.gateway.routes import ROUTES as OF_S3

    return [route.name for routes in OF_S3.values() for route in routes.values()]
