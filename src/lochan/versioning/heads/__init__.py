"""How the head of a branch moves: commits, merges, reverts, rebases and imports, and the queue they wait in."""
