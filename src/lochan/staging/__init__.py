"""The uncommitted changes of a branch: inline changes and runs, in layers over the base commit."""
