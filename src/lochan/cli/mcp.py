"""`lochan mcp`: the lake for agents, over standard input and output."""

import sys
from typing import TYPE_CHECKING

from lochan.cli.session import actor, configuration, is_remote, lasting_lake
from lochan.cli.verb import verb
from lochan.connection import lake_place, remote_address

if TYPE_CHECKING:
    from lochan.config.load import Config
    from lochan.mcp.tools import AgentContext


@verb("mcp", "lochan mcp", "lochan --lake https://lake.example.org mcp", form=False)
def mcp_command() -> None:
    """Serve the lake to an agent, by the Model Context Protocol.

    Messages are read from standard input and answered on standard output, one on a line, until the input ends. The
    agent reads what you may read. It writes to branches that it makes itself, and proposes them in pull requests.

    A server answers the same messages at /mcp on the address of its API.
    """
    from lochan.cli.logging import set_up
    from lochan.mcp.pipe import serve_pipe
    from lochan.mcp.server import answer
    from lochan.runtime import Runtime

    config, remote = configuration(), is_remote()
    set_up(config)
    who = "" if remote else actor(config).user
    runtime = Runtime()
    agent = runtime.wait(_agent(config, who))
    try:
        serve_pipe(sys.stdin.buffer, sys.stdout.buffer, lambda data: runtime.wait(answer(agent, data)))
    finally:
        runtime.wait(agent.lake.close())
        runtime.stop()


async def _agent(config: "Config", user: str) -> "AgentContext":
    """Opens the lake for an agent. `user` is the user that acts on a lake that is opened here. It is empty for a
    server, which determines the user by the access key."""
    from lochan.api.options import DEFAULT_ENGINE, QueryOptions
    from lochan.mcp.tools import AgentContext, query_with

    lake = await lasting_lake(config)
    if user:
        return AgentContext(lake, user, query_with(QueryOptions(reads_only=True)))
    name = await remote_address(config, lake_place(config), config.settings.user or "").user()
    return AgentContext(lake, name, query_with(DEFAULT_ENGINE))
