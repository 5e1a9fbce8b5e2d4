"""Workspaces: a place of one's own over a branch, written to as plain files, committed once or thrown away (S8)."""
