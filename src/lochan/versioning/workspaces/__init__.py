"""Workspaces: private places over a branch, written to as plain files, committed once or dropped (S8)."""
