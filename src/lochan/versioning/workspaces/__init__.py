"""Workspaces: private places over a branch, which are written to as plain files, and committed once or dropped (S8)."""
