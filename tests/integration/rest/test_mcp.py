"""Agents speak to a lake by the published client of the Model Context Protocol, as it is."""

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.api.client import Client
from tests.servers.client_env import program
from tests.servers.lochan import LochanServer

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def test_a_tour_over_a_pipe_and_over_http(server: LochanServer) -> None:
    server.lochan("repo", "create", "mcp-demo")
    lochan = Path(sys.executable).with_name("lochan")
    words = [f"http://{server.api}", server.access_key, server.secret_key, str(lochan)]
    script = Path(__file__).with_name("run_mcp.py")
    done = subprocess.run([program("mcp"), script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout == "done\n"


def test_an_agent_can_do_no_more_than_its_key(server: LochanServer, admin: Client) -> None:
    server.lochan("repo", "create", "mcp-secret")
    server.lochan("auth", "users", "create", "mcp-nobody")
    key = json.loads(server.lochan("auth", "keys", "create", "mcp-nobody", "-f", "json"))
    nobody = Client(server.api, key["access_key_id"], key["secret_access_key"])
    for tool, arguments in (
        ("list_objects", {"repository": "mcp-secret"}),
        ("start_branch", {"repository": "mcp-secret"}),
        ("put_object", {"repository": "mcp-secret", "branch": "agent.mcp-nobody.x", "path": "a", "text": ""}),
        ("query", {"query": "from mcp-secret:objects"}),
    ):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        answered = nobody.ask("POST", "/mcp", json.dumps(message).encode())
        assert answered.status == 200, answered.body
        assert json.loads(answered.body)["result"]["isError"] is True, (tool, answered.body)
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_repositories"}}
    answered = nobody.ask("POST", "/mcp", json.dumps(listed).encode())
    assert json.loads(json.loads(answered.body)["result"]["content"][0]["text"]) == []


def test_strangers_and_pages_of_other_sites_are_refused(server: LochanServer, admin: Client) -> None:
    assert Client(server.api, "nobody", "wrong").ask("POST", "/mcp", PING).status == 401
    assert admin.ask("POST", "/mcp", PING, origin="https://elsewhere.example").status == 403
    assert admin.ask("POST", "/mcp", PING, origin=f"http://{server.api}").status == 200
    assert admin.ask("GET", "/mcp").status == 405
    assert admin.ask("POST", "/mcp", b"[").status == 400
    assert admin.ask("POST", "/mcp", b" " * (9 << 20)).status == 413
