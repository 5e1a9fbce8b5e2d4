"""The commands of docs/operations/review.md work as printed, by several users of one server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lochan
from docs.tour import ROOT, play
from lochan.config.profiles import Profile, encode
from tests.servers.lochan import lochan_server

PAGE = ROOT / "docs" / "operations" / "review.md"
MAY = {
    "ci": [
        {"effect": "allow", "actions": ["fs:List*", "fs:ReadRepository"], "resources": "repository/*"},
        {"effect": "allow", "actions": "fs:ReadBranch", "resources": "repository/shop/branch/*"},
        {
            "effect": "allow",
            "actions": ["fs:ReadPullRequest", "fs:ReportCheck"],
            "resources": "repository/shop/branch/main",
        },
    ]
}


def test_the_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LOCHAN_COMPANION", "off")
    (tmp_path / "work").mkdir()
    with lochan_server(tmp_path / "lake") as server:
        url = f"http://{server.api}"
        profiles = {"admin": Profile(url, server.access_key, server.secret_key)}
        with lochan.connect(server.lake, user="root") as lake:
            lake.access.put_policy("ci", json.dumps({"statements": MAY["ci"]}).encode())
            for user, policy in (("ann", "Developer"), ("bob", "Developer"), ("ci", "ci")):
                lake.access.create_user(user)
                lake.access.attach(policy, user)
                key = lake.access.create_key(user)
                profiles[user] = Profile(url, key.access_key_id, key.secret_access_key)
        noted = tmp_path / "config" / "lochan" / "profiles.json"
        noted.parent.mkdir(parents=True)
        noted.write_text(encode(profiles))
        noted.chmod(0o600)
        printed = {}
        for command, done in play(tmp_path / "work", show=False, page=PAGE):
            assert done.returncode == 0, (command, done.stdout)
            printed[command] = done.stdout
        assert not server.traceback(), server.traceback()
    refused = printed["! lochan pr merge shop 10 --profile ann"]
    for reason in ("'bob' asked for changes", "0 of 1 approvals", "line 2 has no price"):
        assert reason in refused
    assert "opened pull request 10" in next(text for command, text in printed.items() if "Add plums" in command)
    listed = printed["lochan pr list shop --status all --profile bob"].splitlines()
    assert ["merged" in line for line in listed] == [False, False, True]
