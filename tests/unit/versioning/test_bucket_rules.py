"""Lifecycle rules and policies of a bucket match the logical paths they are for, and nothing that the lake reads."""

import json
from fnmatch import fnmatchcase
from typing import Any
from xml.etree import ElementTree

import pytest

from lochan.api.bucket_rules import BucketRules, lifecycle, policy
from lochan.errors import Invalid, Refused
from lochan.lake import Lake, LakeOptions
from lochan.store.memory import MemoryStore
from lochan.versioning import objects
from lochan.versioning.bodies.address import BodySettings
from lochan.versioning.bodies.write import path_tags
from lochan.versioning.bucket_rules import LifecycleAction
from lochan.versioning.heads.commit import CommitRequest, commit
from lochan.versioning.open_repository import OpenRepository
from tests.run import run
from tests.unit.versioning.test_import import ANN, once

PATHS = ("logs/raw/1", "logs/raw/2", "logs/other", "public/logs/raw/3", "logs.txt")
URL = "s3://bucket/lake"
BY_PATH = BodySettings("path", True)


async def opened(settings: BodySettings) -> OpenRepository:
    lake = await Lake.create(MemoryStore(), world=LakeOptions(bodies=settings))
    await lake.create_repository("demo-repo", actor=ANN)
    repository = await lake.open_repository("demo-repo")
    for path in PATHS:
        await objects.put(repository, "main", path, once(b"12345"), actor=ANN)
    await commit(repository, "main", CommitRequest("c"), actor=ANN)
    return repository


async def addresses(repository: OpenRepository) -> dict[str, str]:
    found = (await objects.list_objects(repository, "main")).entries
    return {entry.path: f"lake/{entry.blocks[0].address}" for entry in found}


async def files(repository: OpenRepository) -> list[str]:
    return [f"lake/{stat.path}" async for stat in repository.store.list()]


def rules_of(settings: BodySettings, prefix: str, **action: Any) -> tuple[BucketRules, dict[str, str], list[str]]:
    async def play() -> tuple[BucketRules, dict[str, str], list[str]]:
        repository = await opened(settings)
        made = await lifecycle(repository, URL, settings, prefix, LifecycleAction(**action))
        return made, await addresses(repository), await files(repository)

    return run(play())


def test_a_lifecycle_rule_matches_its_folder_and_no_metadata() -> None:
    made, stored, every = rules_of(BY_PATH, "logs/raw/", expire_days=30)
    [rule] = made.document["Rules"]
    both = rule["Filter"]["And"]
    wanted = {tag["Key"]: tag["Value"] for tag in both["Tags"]}
    matched = [
        path
        for path, address in stored.items()
        if address.startswith(both["Prefix"]) and wanted.items() <= path_tags(path).items()
    ]
    assert matched == ["logs/raw/1", "logs/raw/2"]
    bodies = set(stored.values())
    assert [file for file in every if file.startswith(both["Prefix"])] == sorted(bodies)
    tree = ElementTree.fromstring(made.xml)
    assert "".join(tree.itertext()).replace("\n", "").replace(" ", "").endswith("30")
    assert "branch main has 2 objects under logs/raw/ that would become unreadable" in made.warnings[0]


def test_what_is_due_and_what_is_not_matched_is_said() -> None:
    async def play() -> BucketRules:
        repository = await opened(BodySettings())
        return await lifecycle(repository, URL, BY_PATH, "logs/", LifecycleAction(expire_days=1))

    made = run(play())
    assert any("3 objects are stored under ids alone" in warning for warning in made.warnings)
    [main] = made.affected
    assert (main.objects, main.bytes, main.due, main.without_path) == (3, 15, 0, 3)


def test_a_lake_without_the_setting_is_refused() -> None:
    with pytest.raises(Refused, match=r"not written with blockstore\.tag_paths: true; 3 objects") as refused:
        rules_of(BodySettings("path", False), "logs/", expire_days=3)
    assert "set blockstore.tag_paths: true" in refused.value.hint

    async def play() -> None:
        repository = await opened(BodySettings())
        with pytest.raises(Refused, match=r"blockstore\.address_style: path; 3 objects are stored without it"):
            await policy(repository, URL, BodySettings(), ("logs/",), "read", "")
        with pytest.raises(Refused, match="in no S3 bucket"):
            await lifecycle(repository, "file:///lake", BY_PATH, "logs/", LifecycleAction(expire_days=1))

    run(play())


@pytest.mark.parametrize(
    ("prefix", "action", "match"),
    [
        ("logs", {"expire_days": 1}, "is no folder"),
        ("", {"expire_days": 1}, "is no folder"),
        ("a//", {"expire_days": 1}, "is no folder"),
        ("logs/", {}, "does nothing"),
        ("logs/", {"transition_days": 1}, "go together"),
        ("logs/", {"expire_days": 5, "transition_days": 5, "storage_class": "GLACIER_IR"}, "expire before"),
        ("/".join("abcdefghijkl") + "/", {"expire_days": 1}, "deeper than 10 folders"),
    ],
)
def test_rules_that_make_no_sense_are_refused(prefix: str, action: dict[str, Any], match: str) -> None:
    with pytest.raises(Invalid, match=match):
        rules_of(BY_PATH, prefix, **action)


@pytest.mark.parametrize("allow", ["read", "write"])
def test_a_policy_matches_its_folder_alone(allow: str) -> None:
    async def play() -> tuple[BucketRules, dict[str, str]]:
        repository = await opened(BY_PATH)
        return await policy(repository, URL, BY_PATH, ("logs/",), allow, "arn:x"), await addresses(repository)

    made, stored = run(play())
    statements = made.document["Statement"]
    assert all(each["Principal"] == {"AWS": "arn:x"} for each in statements)

    def allowed(action: str, key: str) -> bool:
        return any(
            action in each["Action"] and fnmatchcase(f"arn:aws:s3:::bucket/{key}", resource)
            for each in statements
            for resource in each["Resource"]
        )

    assert [path for path, key in stored.items() if allowed("s3:GetObject", key)] == [
        "logs/other",
        "logs/raw/1",
        "logs/raw/2",
    ]
    writable = [path for path, key in stored.items() if allowed("s3:PutObject", key)]
    assert writable == (["logs/other", "logs/raw/1", "logs/raw/2"] if allow == "write" else [])
    assert not allowed("s3:GetObject", "lake/_lake/secret.key")
    assert allowed("s3:GetObject", "lake/lake.json")
    assert json.dumps(made.document)
