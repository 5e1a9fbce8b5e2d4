"""Moves of the head of a branch: commits, merges, reverts, rebases and imports, and the queue in which they wait."""
