"""The Model Context Protocol: a lake for agents. `server.py` answers its messages, `tools.py` is what an agent can do,
`own_branch.py` where it may write."""
