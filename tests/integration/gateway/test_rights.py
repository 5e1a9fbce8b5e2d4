"""Each route is refused without the action that the table of routes names, and carried out with it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from lochan.access import policies, users
from lochan.access import users as keys
from lochan.access.users import NewAccessKey
from lochan.formats.lake_events import Statement
from lochan.formats.record import Actor
from lochan.lake import Lake
from lochan.server.gateway.routes import ROUTES, Route
from lochan.store.local import LocalStore
from tests.integration.gateway.test_signature_matrix import ABSENT, ASKS, UNSIGNED_BY_V2, Target, new_target, snapshot
from tests.integration.gateway.wire import FORMS, Wire
from tests.run import run
from tests.servers.lochan import LochanServer

ADMIN = Actor("admin", "test", "here")
ALLOW, DENY = "allow", "deny"
BY_NAME: dict[str, Route] = {route.name: route for routes in ROUTES.values() for route in routes.values()}
ACTIONS = sorted({route.action for route in BY_NAME.values()})
READING_TOO = ("CopyObject", "UploadPartCopy")  # of what they copy
LISTING = ("ListMultipartUploads", "ListObjectVersions", "ListObjectsV2", "ListObjects")  # and may know of the bucket
TOGETHER = {
    "copying": ("fs:ReadObject", "fs:WriteObject"),
    "listing": ("fs:ListObjects", "fs:ListRepositories"),
    "renaming": ("fs:ReadObject", "fs:WriteObject", "fs:DeleteObject"),
}
APART = ("PostObject",)  # signed in its form, and tried there


class People:
    """Credentials by what their user may do."""

    def __init__(self, nobody: NewAccessKey, only: dict[str, NewAccessKey], without: dict[str, NewAccessKey]) -> None:
        self.nobody, self.only, self.without = nobody, only, without


@pytest.fixture(scope="module")
def people(server: LochanServer) -> People:
    async def create() -> People:
        lake = await Lake.open(LocalStore(server.lake))
        access = lake.open_access()

        async def person(name: str, *statements: Statement) -> NewAccessKey:
            await users.create_user(access, name, actor=ADMIN)
            if statements:
                await policies.put_policy(access, f"For-{name}", statements, actor=ADMIN)
                await policies.attach(access, f"For-{name}", f"user/{name}", actor=ADMIN)
            return await keys.create_key(access, name, actor=ADMIN)

        only, without = {}, {}
        for action in ACTIONS:
            word = action.partition(":")[2].lower()
            only[action] = await person(f"only-{word}", Statement(ALLOW, (action,), ("*",)))
            rest = Statement(ALLOW, ("*",), ("*",)), Statement(DENY, (action,), ("*",))
            without[action] = await person(f"without-{word}", *rest)
        for word, actions in TOGETHER.items():
            only[word] = await person(f"only-{word}", Statement(ALLOW, actions, ("*",)))
        nobody = await person("only-nothing")
        await lake.close()
        return People(nobody, only, without)

    return run(create())


@pytest.fixture(scope="module")
def target(server: LochanServer) -> Iterator[Target]:
    with closing(server.boto3()) as s3:
        yield new_target(server, s3, "rights")


def answer_to(target: Target, name: str, who: NewAccessKey, form: str) -> Any:
    with Wire(target.server.s3) as wire:
        return wire.ask(target.signed(name, form, key=who.access_key_id, secret=who.secret_access_key))


def is_refused(name: str, answer: Any, target: Target) -> bool:
    if name == "ListBuckets":  # it shows what one may see
        return answer.status == 200 and f"<Name>{target.bucket}</Name>".encode() not in answer.body
    if name == "DeleteObjects":  # it answers for each key
        return answer.status == 200 and b"<Code>AccessDenied</Code>" in answer.body and b"<Deleted>" not in answer.body
    return answer.status == 403 and (answer.code == "AccessDenied" or ASKS[name].method == "HEAD")


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in APART])
def test_without_its_action_a_route_is_refused(people: People, target: Target, name: str) -> None:
    with closing(target.server.boto3()) as s3:
        before = snapshot(s3, target)
        for form in FORMS:
            for who in (people.nobody, people.without[BY_NAME[name].action]):
                answer = answer_to(target, name, who, form)
                unsigned = answer.code == UNSIGNED_BY_V2.get(form, {}).get(name)
                assert unsigned or is_refused(name, answer, target), (form, who, answer)
        assert snapshot(s3, target) == before


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in APART])
def test_with_its_action_alone_it_is_carried_out(server: LochanServer, people: People, name: str) -> None:
    with closing(server.boto3()) as s3:
        own = new_target(server, s3, f"right-{name.lower()}")
    together = "copying" if name in READING_TOO else "listing" if name in LISTING else ""
    action = "renaming" if name == "RenameObject" else together or BY_NAME[name].action
    answer = answer_to(own, name, people.only[action], "v4 header")
    assert answer.status < 300 or answer.code == {"DeleteBucket": "BucketNotEmpty", **ABSENT}.get(name), answer
    assert not is_refused(name, answer, own)


@pytest.mark.parametrize("name", [name for name, ask in ASKS.items() if "{bucket}" in ask.path and name not in APART])
def test_who_may_nothing_does_not_learn_which_buckets_there_are(people: People, target: Target, name: str) -> None:
    there = answer_to(target, name, people.nobody, "v4 header")
    missing = answer_to(target._replace(bucket="rights-no-such"), name, people.nobody, "v4 header")
    assert (there.status, there.code) == (missing.status, missing.code)


@pytest.mark.parametrize("name", READING_TOO)
def test_a_copy_needs_to_be_allowed_to_read(people: People, target: Target, name: str) -> None:
    assert is_refused(name, answer_to(target, name, people.only["fs:WriteObject"], "v4 header"), target)
    assert is_refused(name, answer_to(target, name, people.without["fs:ReadObject"], "v4 header"), target)


@pytest.mark.parametrize("action", TOGETHER["renaming"])
def test_a_rename_needs_to_be_allowed_to_read_write_and_delete(people: People, target: Target, action: str) -> None:
    assert is_refused("RenameObject", answer_to(target, "RenameObject", people.without[action], "v4 header"), target)


def test_uploads_are_listed_with_the_right_to_list_objects(server: LochanServer, s3: Any, bucket: str) -> None:
    server.lochan("branch", "create", f"{bucket}@dev")
    for key in ("main/open/a", "main/secret/b", "dev/c"):
        s3.create_multipart_upload(Bucket=bucket, Key=key)

    async def create() -> NewAccessKey:
        lake = await Lake.open(LocalStore(server.lake))
        access = lake.open_access()
        await users.create_user(access, "half", actor=ADMIN)
        allowed = (
            Statement(ALLOW, ("fs:*",), ("*",)),
            Statement(DENY, ("fs:ListObjects",), (f"repository/{bucket}/branch/main/object/secret/*",)),
        )
        await policies.put_policy(access, "Half", allowed, actor=ADMIN)
        await policies.attach(access, "Half", "user/half", actor=ADMIN)
        key = await keys.create_key(access, "half", actor=ADMIN)
        await lake.close()
        return key

    half = run(create())
    with closing(server.boto3(key=half.access_key_id, secret=half.secret_access_key)) as theirs:
        listed = theirs.list_multipart_uploads(Bucket=bucket)["Uploads"]
        assert [each["Key"] for each in listed] == ["dev/c", "main/open/a"]
    with closing(server.boto3(flat=True)) as flat:  # which knows of the default branch alone
        assert [each["Key"] for each in flat.list_multipart_uploads(Bucket=bucket)["Uploads"]] == ["open/a", "secret/b"]
