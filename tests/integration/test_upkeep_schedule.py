"""A server looks after its lake by the schedule that it was given."""

import json
import re
from pathlib import Path

from tests.integration.api.client import Client
from tests.run import run
from tests.servers.lochan import lochan_server
from tests.until import until


def test_tasks_run_and_can_be_seen(tmp_path: Path) -> None:
    settings = ("-s", "upkeep.gc=1s", "-s", "upkeep.grace_hours=0", "-s", "upkeep.trim=off")
    with lochan_server(tmp_path / "lake", options=settings) as server:
        server.lochan("repo", "create", "demo")

        def jobs() -> list[dict[str, object]]:
            found: list[dict[str, object]] = json.loads(server.lochan("jobs", "list", "-f", "json"))
            return [each for each in found if each["kind"] == "upkeep" and each["state"] == "done"]

        run(until(lambda: len(jobs()) > 1))
        assert {(each["about"], each["user"]) for each in jobs()} == {("gc", "lochan")}
        assert "began upkeep: gc" in server.lochan("events", "-n", "50")
        assert "deleted 0 files" in server.lochan("jobs", "show", str(jobs()[0]["id"]))
        status = {each["task"]: each for each in json.loads(server.lochan("upkeep", "status", "-f", "json"))}
        assert status["gc"]["last"] is not None
        assert status["trim"]["last"] is None
        text = Client(server.api, server.access_key, server.secret_key).ask("GET", "/_metrics").body.decode()
        assert re.search(r'lochan_upkeep_runs_total\{state="done",task="gc"\} [1-9]', text)
        assert server.traceback() == ""
