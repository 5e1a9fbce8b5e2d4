"""Commits and their names: ref expressions, the commit graph, logs, blame, bisection and diffs."""
