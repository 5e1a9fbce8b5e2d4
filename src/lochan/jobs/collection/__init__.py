"""Garbage collection on the engine that fits, by the functions of `versioning/collection`.

run      chooses the engine, and records the job
spark    the work on Spark: which stages there are, and what goes between them
tasks    what executors do
shards   how the paths of a repository are cut between tasks
"""
