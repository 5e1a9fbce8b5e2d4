"""Commits: how a history is listed, compared and searched."""
