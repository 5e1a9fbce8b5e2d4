"""Commits and how they are named: ref expressions resolved, the commit graph, logs, blame, bisection and diffs."""
