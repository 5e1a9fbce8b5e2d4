"""Commits and how they are named: ref expressions, the commit graph, logs, blame, bisection and diffs."""
