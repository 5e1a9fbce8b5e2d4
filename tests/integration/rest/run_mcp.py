"""Played by the published client of the Model Context Protocol: a tour over a pipe, then over HTTP.

python run_mcp.py URL ACCESS_KEY SECRET_KEY LOCHAN"""

import asyncio
import json
import os
import sys
from base64 import b64encode
from typing import Any

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def tour(session: ClientSession, topic: str) -> None:
    async def call(tool: str, **arguments: Any) -> Any:
        done = await session.call_tool(tool, arguments)
        text = done.content[0].text
        return text if done.is_error else json.loads(text)

    found = await session.initialize()
    assert found.server_info.name == "lochan", found
    assert "propose" in (found.instructions or "")
    assert {"query", "put_object"} <= {each.name for each in (await session.list_tools()).tools}
    assert {"name": "mcp-demo", "kind": "files"} in await call("list_repositories")
    own = await call("start_branch", repository="mcp-demo", topic=topic)
    assert (await call("put_object", **own, path="notes.txt", text=topic))["size"] == len(topic)
    read = await call("read_object", repository="mcp-demo", ref=own["branch"], path="notes.txt")
    assert read["text"] == topic
    assert "does not write to" in await call("put_object", repository="mcp-demo", branch="main", path="x", text="")
    assert (await call("query", query="select 1 + 1 as two"))["rows"] == [{"two": 2}]
    assert "nonsense" in await call("query", query="from nonsense")
    assert "no-such" in await call("list_objects", repository="no-such")
    assert (await call("propose", **own, title=f"Notes by {topic}"))["pull_request"]
    await session.send_ping()


async def main(url: str, access_key: str, secret_key: str, lochan: str) -> None:
    env = {
        **os.environ,
        "LOCHAN_LAKE": url,
        "LOCHAN_REMOTE__ACCESS_KEY_ID": access_key,
        "LOCHAN_REMOTE__SECRET_ACCESS_KEY": secret_key,
    }
    async with (
        stdio_client(StdioServerParameters(command=lochan, args=["mcp"], env=env)) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await tour(session, "pipe")
    credentials = b64encode(f"{access_key}:{secret_key}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}"}
    async with (
        httpx2.AsyncClient(headers=headers) as client,
        streamable_http_client(f"{url}/mcp", http_client=client) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await tour(session, "http")
    print("done")


asyncio.run(main(*sys.argv[1:]))
