"""The Model Context Protocol: a lake for agents. `server.py` answers messages, `tools.py` has the tools that an agent
can call, and `own_branch.py` limits the branches that it may write to."""
