"""Writes the output of commands: tables, JSON and progress."""
