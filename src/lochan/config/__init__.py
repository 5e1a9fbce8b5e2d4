"""Settings: one table, read from a file, the environment and flags."""
