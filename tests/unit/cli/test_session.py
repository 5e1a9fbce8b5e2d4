"""From the configuration to the options of a store, and to the acting user."""

import asyncio
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

import pytest

from lochan import __version__
from lochan.cli.session import actor, read
from lochan.config.credentials import store_options, with_options
from lochan.config.load import Config, Flag, load

AWS = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "env-token"}


def config(settings: Mapping[str, str]) -> Config:
    return load(
        env={}, flags=[Flag("flag", key, text) for key, text in settings.items()], cwd=Path("/"), home=Path("/")
    )


@pytest.mark.parametrize(
    "settings, env, options",
    [
        pytest.param({}, {}, {"region": "us-east-1"}, id="nothing said"),
        pytest.param(
            {},
            {**AWS, "AWS_REGION": "eu", "AWS_ENDPOINT_URL": "http://e"},
            {
                "access_key_id": "env-id",
                "secret_access_key": "env-secret",
                "session_token": "env-token",
                "region": "eu",
                "endpoint": "http://e",
            },
            id="the usual variables",
        ),
        pytest.param(
            {
                "blockstore.s3.credentials.access_key_id": "id",
                "blockstore.s3.credentials.secret_access_key": "secret",
                "blockstore.s3.region": "us-east-1",
            },
            {**AWS, "AWS_REGION": "eu"},
            {"access_key_id": "id", "secret_access_key": "secret", "region": "us-east-1"},
            id="a configured key has no token from elsewhere",
        ),
        pytest.param(
            {"blockstore.s3.profile": "p"}, AWS, {"profile": "p", "region": "us-east-1"}, id="a configured profile"
        ),
        pytest.param(
            {
                "blockstore.s3.profile": "p",
                "blockstore.s3.credentials_file": "/f",
                "blockstore.s3.credentials.access_key_id": "id",
                "blockstore.s3.credentials.secret_access_key": "secret",
            },
            {},
            {"access_key_id": "id", "secret_access_key": "secret", "region": "us-east-1"},
            id="a fixed key beside a profile",
        ),
        pytest.param({}, {"AWS_PROFILE": "p"}, {"profile": "p", "region": "us-east-1"}, id="a profile"),
    ],
)
def test_options_of_s3(settings: Mapping[str, str], env: Mapping[str, str], options: Mapping[str, str]) -> None:
    assert store_options(config(settings), "s3://bucket", env) == options


def test_options_of_other_stores() -> None:
    settings = {"blockstore.gs.credentials_file": "/g", "blockstore.azure.account": "a", "blockstore.azure.key": "k"}
    assert store_options(config(settings), "gs://b", AWS) == {"service_account": "/g"}
    assert store_options(config(settings), "az://b", AWS) == {"account_name": "a", "account_key": "k"}
    assert store_options(config(settings), "/folder", AWS) == {}


def test_who_is_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is the real one, whatever is configured or in the environment; a claimed name is recorded beside it."""
    own = pwd.getpwuid(os.getuid()).pw_name
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    who = actor(config({"user": "ada"}))
    assert (who.user, who.author, who.name, who.client) == (own, "ada", "ada", f"lochan-cli/{__version__}")
    assert who.source
    for settings in ({}, {"user": own}):
        plain = actor(config(settings))
        assert (plain.user, plain.author, plain.name) == (own, "", own)


@pytest.mark.parametrize(
    "settings, looped",
    [
        pytest.param({"lake": "/x"}, False, id="a local disk"),
        pytest.param({"lake": "memory://"}, True, id="a store"),
        pytest.param({"lake": "/x", "journal.postgres.url": "postgres://h/d"}, True, id="a database"),
    ],
)
def test_reading_needs_an_event_loop_only_for_a_network(settings: Mapping[str, str], looped: bool) -> None:
    async def work() -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True

    assert read(config(settings), work) is looped


def test_reading_that_waits_after_all_begins_again() -> None:
    begun = []

    async def work() -> int:
        begun.append(1)
        await asyncio.sleep(0)
        return len(begun)

    assert read(config({"lake": "/x"}), work) == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"region": "eu"}, {"region": "eu", "access_key_id": "c", "secret_access_key": "s", "session_token": "t"}),
        ({"access_key_id": "a", "secret_access_key": "b"}, {"access_key_id": "a", "secret_access_key": "b"}),
        ({"profile": "lab"}, {"profile": "lab"}),
    ],
    ids=["no identity", "keys", "a profile"],
)
def test_an_identity_that_is_given_replaces_the_configured_one(given: dict[str, str], expected: dict[str, str]) -> None:
    """A token that belongs to other keys would be sent with these."""
    configured = {"region": "us", "access_key_id": "c", "secret_access_key": "s", "session_token": "t"}
    assert with_options(configured, given) == {"region": "us", **expected}
