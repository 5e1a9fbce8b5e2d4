"""Garbage collection on the engine that fits, by the functions of `versioning/collection`.

run              chooses the engine, and records the job
spark            the work on Spark: which stages there are, and what goes between them
metadata_files   which files of metadata have to be read
tasks            what executors do
mark_rows        how marks go from one task to another
shards           how the paths of a repository are cut between tasks
"""
