"""The output of commands: tables, JSON, progress."""
