"""Commits: lists, compares and searches a history."""
