"""Lineage through a server: what a client has read there is noted with what it commits there."""

from __future__ import annotations

import json
from pathlib import Path

import lochan
from tests.servers.lochan import lochan_server


def test_what_was_read_through_a_server_is_noted_there(tmp_path: Path) -> None:
    with lochan_server(tmp_path / "lake") as server:
        url = f"http://{server.api}"
        with lochan.connect(url, access_key=server.access_key, secret_key=server.secret_key) as lake:
            main = lake.create_repository("shop").branch("main")
            main.put("raw/a.csv", b"n\n1\n")
            raw = main.commit("raw").id
            logs = lake.create_pool("logs", key="n")
            logs.load([{"n": 1}])
            rows = logs.ref("main").resolve().id
            with lochan.trace() as trace:
                assert main.read("raw/a.csv") == b"n\n1\n"
                assert list(lake.query("from logs").rows()) == [{"n": 1}]
                main.put("out", b"x")
                made = main.commit("out")
            expected = [("shop", raw, "raw/a.csv"), ("logs", rows, "")]
            assert [(each.repository, each.commit, each.path) for each in trace.inputs] == expected
            found = json.loads(made.metadata["lineage.inputs"])
            assert [(each["repository"], each["commit"], each["path"]) for each in found] == expected
            main.put("later", b"x")
            assert "lineage.inputs" not in main.commit("later").metadata
            [row] = lake.query('from :lineage | input=="logs" | cut repository, commit').rows()
            assert row == {"repository": "shop", "commit": made.id}
        assert not server.traceback(), server.traceback()
