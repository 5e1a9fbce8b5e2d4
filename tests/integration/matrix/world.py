"""The lake that the matrix is played on, and the credentials of everybody who asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import lochan
from lochan.access.sessions import SignIn, open_session
from lochan.formats.record import Actor
from tests.integration.matrix.roles import ROLES, Role

FILES = ("data/a.csv", "secret/s.csv")


class Credentials(NamedTuple):
    id: str
    secret: str
    token: str = ""


class World(NamedTuple):
    made: Mapping[str, str]  # ids, by `repository.what`, `key` and `session`
    people: Mapping[str, Credentials]  # by role


def make_world(lake: lochan.Lake, more: Mapping[str, Role]) -> World:
    """`more`: roles beside those that have names of their own."""
    made: dict[str, str] = {}
    for name, pool in (("shop", "rows"), ("other", "others"), ("frozen", "ice")):
        made |= {f"{name}.{what}": id for what, id in _repository(lake, name).items()}
        rows = lake.create_pool(pool, key="x")
        rows.load([{"x": 1}])
        rows.create_branch("dev", "main")
    lake.create_repository("erased")
    lake.repository("erased").delete()
    access = lake.access
    access.create_user("bea")
    access.create_group("crew")
    access.put_policy("Extra", b"statements: [{effect: allow, actions: 'fs:ReadObject', resources: '*'}]")
    made["key"] = access.create_key("bea").access_key_id
    access.link_identity("bea", "oidc", "7")
    made["session"] = _session(lake, "bea", made["key"])
    people = {name: _person(lake, f"as-{name}", role) for name, role in ROLES.items()}
    people |= {name: _person(lake, f"person-{number}", role) for number, (name, role) in enumerate(more.items())}
    for name in ("frozen", "ice"):
        lake.repository(name).set_read_only()
    for branch in ("locked", "sealed"):
        lake.repository("shop").protect(branch, blocked=["stage", "commit", "revert", "merge", "rewrite"])
    return World(made, {**people, **_outside(lake)})


def _session(lake: lochan.Lake, user: str, key: str) -> str:
    """The id of one that the user has opened, which only a server does."""
    access = lake._noun._session.lake.open_access()
    opened = open_session(access, SignIn(user, "key", key), actor=Actor(user, "test/1", ""))
    return lake._runtime.wait(opened).id


def _repository(lake: lochan.Lake, name: str) -> dict[str, str]:
    repository = lake.create_repository(name)
    main = repository.branch("main")
    for path in FILES:
        main.put(path, f"body of {path}".encode())
    main.commit("first")
    repository.create_tag("v1", "main")
    for branch in ("dev", "locked"):
        repository.create_branch(branch, "main").put("data/more.csv", branch.encode())
    repository.create_branch("sealed", "main")
    dev = repository.branch("dev")
    dev.commit("more")
    repository.branch("locked").put("data/staged.csv", b"staged")
    upload = main.create_upload("data/a.csv")
    upload.put_part(1, b"part")
    main.put("data/aside.csv", b"aside")
    stash = main.stash()
    main.put("data/staged.csv", b"staged")
    workspace = main.workspace()
    workspace.put("data/w.csv", b"w")
    main.address("data/linked.csv")  # a job
    repository.gc.plan()
    pull = repository.create_pull("dev", "main", title="title of the request")
    return {
        "upload": upload.id,
        "stash": stash,
        "workspace": workspace.name,
        "pull": pull.id,
    }


def _person(lake: lochan.Lake, name: str, role: Role) -> Credentials:
    access = lake.access
    access.create_user(name)
    policy = {"Developer": "Developer", "Analyst": "Analyst", "group": "Analyst"}.get(role.via, "")
    if role.statements:
        policy = f"Of-{name}"
        access.put_policy(policy, _policy(role))
    if role.via == "group":
        access.create_group(f"group-of-{name}")
        access.attach_to_group(policy, f"group-of-{name}")
        access.add_member(f"group-of-{name}", name)
    elif policy:
        access.attach(policy, name)
    made = access.create_key(name, limits=role.limits if role.via == "key" else ())
    if role.via == "session":
        session = access.create_token(made.access_key_id, limits=role.limits)
        return Credentials(session.access_key_id, session.secret_access_key, session.session_token)
    return Credentials(made.access_key_id, made.secret_access_key)


def _policy(role: Role) -> bytes:
    when = {"when": dict(role.when)} if role.when else {}
    found = [
        {"effect": effect, "actions": action, "resources": resource, **when}
        for effect, action, resource in role.statements
    ]
    return json.dumps({"statements": found}).encode()


def _outside(lake: lochan.Lake) -> dict[str, Credentials]:
    """People whom nobody lets in, although all of them were administrators."""
    access = lake.access
    found = {"anonymous": Credentials("", "")}
    for name in ("wrong-secret", "disabled", "expired", "revoked"):
        access.create_user(name)
        access.attach("Admin", name)
        made = access.create_key(name, lasts_s=0.001 if name == "expired" else 0)
        found[name] = Credentials(made.access_key_id, made.secret_access_key)
    access.set_disabled("disabled")
    access.revoke_key(found["revoked"].id)
    return {**found, "wrong-secret": found["wrong-secret"]._replace(secret="w" * 40)}
