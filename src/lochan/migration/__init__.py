"""Moves repositories from another system into a lake, with their branches, tags, commits and trees."""
