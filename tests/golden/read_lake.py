"""Reads everything from a lake, through every door, as one JSON value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lochan as library
from tests.golden.play import alone, lochan
from tests.servers.lochan import LochanServer

BOB_KEY, BOB_SECRET = "BOBSGOLDENKEY0000001", "the-secret-of-bob-in-the-golden-lake-001"
MANY = 200  # of longer lists only the length and a digest are kept
WORDING = frozenset(("text",))  # said anew whenever it is asked for, so it may be worded otherwise


def read_everything(lake: Path, home: Path) -> dict[str, Any]:
    """Reads with the command line and from Python."""
    with alone(home, {"LOCHAN_LAKE": str(lake)}):
        found = {"repositories": _repositories(), "access": _access(), "python": read_by_python(lake)}
    portable: dict[str, Any] = json.loads(json.dumps(_portable(found, str(lake))))
    return portable


def _repositories() -> dict[str, Any]:
    return {each["name"]: _repository(each["name"], each["kind"]) for each in answer("repo", "list")}


def _repository(name: str, kind: str) -> dict[str, Any]:
    branches = answer("branch", "list", name)
    tags = answer("tag", "list", name)
    refs = [each["name"] for each in (*branches, *tags)]
    found = {
        "show": answer("repo", "show", name),
        "branches": branches,
        "tags": tags,
        "protection": answer("branch", "protection", name),
        "log": {ref: answer("log", f"{name}@{ref}") for ref in refs},
        "events": _events(name),
        "refs": {ref: (_rows if kind == "pool" else _objects)(f"{name}@{ref}") for ref in refs},
    }
    if kind == "files":
        found["staged"] = {each["name"]: answer("status", f"{name}@{each['name']}") for each in branches}
        found["stashes"] = answer("stash", "list", name)
        found["workspaces"] = [_workspace(name, each["id"]) for each in answer("workspace", "list", name)]
        found["diff"] = {ref: _change(name, refs[0], ref) for ref in refs[1:]}
    return found


def _change(name: str, left: str, right: str) -> Any:
    return answer("diff", f"{name}@{left}", f"{name}@{right}")


def _objects(ref: str) -> Any:
    listed = [each for each in answer("fs", "ls", "-r", ref) if each["type"] == "object"]
    if len(listed) > MANY:
        return _digest(listed, ("path", "size", "checksum", "content_type"))
    return [
        {
            **answer("fs", "stat", f"{ref}/{each['path']}"),
            "digest": _sha256(_said("fs", "cat", f"{ref}/{each['path']}")),
        }
        for each in listed
    ]


def _rows(ref: str) -> Any:
    found = {
        "rows": _said("query", f"from {ref}").splitlines(),
        "objects": _said("query", f"from {ref}:objects | cut id, count, min, max | sort id").splitlines(),
    }
    if ref.endswith("@main"):  # the language is tried elsewhere
        found["kinds"] = _said("query", f"from {ref} | count() by kind(ts), kind(x) | sort this").splitlines()
        found["sql"] = _said("query", f'select count(*) as n, count(id) as ids from "{ref}"').splitlines()
    return found


def _workspace(name: str, id: str) -> Any:
    return {"show": answer("workspace", "show", name, id), "diff": answer("workspace", "diff", name, id)}


def _access() -> dict[str, Any]:
    users = answer("auth", "users", "list")
    policies = answer("auth", "policies", "list")
    asked = [
        ("bob", "fs:WriteObject", "repository/shop/branch/main/object/a"),
        ("bob", "fs:DeleteRepository", "repository/archive"),
        ("carol", "fs:WriteObject", "repository/shop/branch/main/object/a"),
        ("carol", "fs:ReadObject", "repository/shop/branch/main/object/a"),
    ]
    return {
        "users": [answer("auth", "users", "show", each["name"]) for each in users],
        "keys": {each["name"]: answer("auth", "keys", "list", each["name"]) for each in users},
        "policies": [answer("auth", "policies", "show", each["name"]) for each in policies],
        "can": {" ".join(each): lochan(["auth", "can", *each])[2] for each in asked},
        "events": _events("_lake"),
    }


def _events(name: str) -> Any:
    events = [json.loads(line) for line in _said("events", name, "--all", "-f", "json").splitlines()]
    return events if len(events) <= MANY else _digest(events, ("number", "index", "time", "user", "author", "type"))


def read_by_python(lake: Path) -> dict[str, Any]:
    """Reads the same through Python; short, because the command line has covered most of it."""
    with library.connect(lake) as opened:
        shop = opened.repository("shop")
        return {
            "repositories": [each.as_json() for each in opened.repositories()],
            "log": [each.as_json() for each in shop.ref("main").log()],
            "v1": {each.path: shop.ref("v1").read(each.path).decode() for each in shop.ref("v1").list()},
            "diff": [each.as_json() for each in shop.ref("v1").diff("main")],
            "staged": [each.as_json() for each in shop.branch("main").status()],
            "hosts": list(opened.query("from logs | count() by host | sort host").rows()),
        }


def read_by_s3(server: LochanServer) -> dict[str, Any]:
    client = server.boto3(key=BOB_KEY, secret=BOB_SECRET)
    try:
        listed = client.list_objects_v2(Bucket="shop", Prefix="main/")["Contents"]
        uploads = client.list_multipart_uploads(Bucket="shop")["Uploads"]
        return {
            "buckets": sorted(each["Name"] for each in client.list_buckets()["Buckets"]),
            "objects": {each["Key"]: _s3_object(client, each["Key"]) for each in listed},
            "uploads": [
                {"key": each["Key"], "id": each["UploadId"], "parts": _s3_parts(client, each)} for each in uploads
            ],
        }
    finally:
        client.close()


def _s3_object(client: Any, key: str) -> dict[str, Any]:
    found = client.get_object(Bucket="shop", Key=key, ChecksumMode="ENABLED")
    names = ("ETag", "ContentLength", "ContentType", "CacheControl", "ContentLanguage", "ChecksumSHA256", "Metadata")
    return {**{name: found.get(name) for name in names}, "digest": hashlib.sha256(found["Body"].read()).hexdigest()}


def _s3_parts(client: Any, upload: dict[str, Any]) -> list[Any]:
    parts = client.list_parts(Bucket="shop", Key=upload["Key"], UploadId=upload["UploadId"])["Parts"]
    return [[part["PartNumber"], part["ETag"], part["Size"]] for part in parts]


def answer(*words: str) -> Any:
    return json.loads(_said(*words, "-f", "json"))


def _said(*words: str) -> str:
    stdout, stderr, code = lochan(words)
    assert code == 0, (words, stdout, stderr)
    return stdout


def _portable(value: Any, lake: str) -> Any:
    """Without the folder that the lake happens to be in, and without what is only worded."""
    if isinstance(value, dict):
        return {name: _portable(each, lake) for name, each in value.items() if name not in WORDING}
    if isinstance(value, list | tuple):
        return [_portable(each, lake) for each in value]
    return value.replace(lake, "<lake>") if isinstance(value, str) and lake else value


def _digest(values: list[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """A digest of these fields: later code may add others."""
    rows = [[each[name] for name in names] for each in values]
    return {"length": len(values), "sha256": _sha256(json.dumps(rows))}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def missing(expected: Any, found: Any, where: str = "") -> list[str]:
    """What is gone or changed. Additions do not matter, but lists keep their length. Ready policies are no part of the
    lake: they take up the actions that later code has."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if _is_ready_policy(expected):
            return [] if found.get("ready") and _actions(expected) <= _actions(found) else [f"{where}: allows less now"]
        at = f"{where}." if where else ""
        return [
            line
            for name, value in expected.items()
            for line in (
                missing(value, found[name], at + name) if name in found else [f"{at}{name}: {value!r}, now nothing"]
            )
        ]
    if isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            return [f"{where}: {len(expected)} items, now {len(found)}"]
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for at, (one, other) in pairs for line in missing(one, other, f"{where}[{at}]")]
    return [] if expected == found else [f"{where}: {expected!r}, now {found!r}"]


def _is_ready_policy(value: dict[str, Any]) -> bool:
    return value.get("ready") is True and "statements" in value


def _actions(policy: dict[str, Any]) -> set[str]:
    return {action for statement in policy["statements"] for action in statement["actions"]}
