"""A branch's uncommitted changes: inline, then runs, over the base commit."""
