"""A server sends events to subscriptions: by the commands of docs/operations/events.md, and after it was killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from docs.tour import ROOT, play
from lochan.config.profiles import Profile, encode
from tests.run import run
from tests.servers.lochan import LochanServer, lochan_server
from tests.servers.receiver import Receiver, receiver
from tests.until import until

PAGE = ROOT / "docs" / "operations" / "events.md"
SETTINGS = ("-s", "hooks.allowed_hosts=127.0.0.1", "-s", "subscriptions.retry_s=0.1", "-s", "subscriptions.turn_s=1")


def test_the_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOCHAN_COMPANION", "off")
    (tmp_path / "work").mkdir()
    with receiver() as target, lochan_server(tmp_path / "lake", options=SETTINGS) as server:
        monkeypatch.setenv("RECEIVER", target.url)
        noted = tmp_path / "config" / "lochan" / "profiles.json"
        noted.parent.mkdir(parents=True)
        profile = Profile(f"http://{server.api}", server.access_key, server.secret_key)
        noted.write_text(encode({"admin": profile}))
        noted.chmod(0o600)
        printed = {}
        for command, done in play(tmp_path / "work", show=False, page=PAGE):
            assert done.returncode == 0, (command, done.stdout)
            printed[command] = done.stdout
            if command.startswith("lochan commit"):
                run(until(lambda: "committed" in types(target)))
        made = json.loads((tmp_path / "work" / "made.json").read_text())
        assert types(target) == ["staged", "sealed", "committed"]
        assert all(each.is_signed_with(made["secret"]) for each in target.seen)
        [shown] = json.loads(printed["lochan subscription list --profile admin -f json"])
        assert (shown["id"], shown["owner"], shown["repository"]) == (made["id"], "admin", "shop")
        assert made["secret"] not in "".join(printed.values())
        assert b"sealed" not in b"".join(each.body for each in target.seen).replace(b'"sealed"', b"")
        assert not server.traceback(), server.traceback()


def types(target: Receiver) -> list[str]:
    return [each["type"] for each in target.events()]


def test_a_killed_server_goes_on_with_what_it_had_not_sent(tmp_path: Path) -> None:
    with receiver() as target:
        with lochan_server(tmp_path / "lake", options=SETTINGS, under=("setsid",)) as server:
            server.lochan("repo", "create", "shop")
            server.lochan("subscription", "create", target.url, "--repository", "shop", "--type", "staged")
            put(server, "a")
            run(until(lambda: paths(target) == ["a"]))
            target.answer = lambda received: 503
            put(server, "b")
            run(until(lambda: bool(shown(server)["trouble"])))
            os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait()
            put(server, "c")  # by a program that opens the lake itself
        target.answer = lambda received: 200
        with lochan_server(tmp_path / "lake", init=False, options=SETTINGS) as server:
            put(server, "d")
            run(until(lambda: "d" in paths(target)))
            found = paths(target)
            assert list(dict.fromkeys(found)) == ["a", "b", "c", "d"], "in order, and each at least once"
            run(until(lambda: shown(server)["trouble"] == ""))
            assert not server.traceback(), server.traceback()


def put(server: LochanServer, path: str) -> None:
    server.lochan("fs", "upload", "-", f"shop/{path}", stdin=path.encode())


def paths(target: Receiver) -> list[str]:
    return [each["payload"]["puts"][0]["path"] for each in target.events()]


def shown(server: LochanServer) -> dict[str, Any]:
    [found] = json.loads(server.lochan("subscription", "list", "-f", "json"))
    return dict(found)
