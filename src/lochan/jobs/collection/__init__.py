"""Garbage collection on the engine that fits, by the functions of `versioning/collection`.

run              chooses the engine, and records the job
spark            the work on Spark: its stages, and the data between them
metadata_files   the files of metadata that have to be read
tasks            the work of executors
mark_rows        sends marks from one task to another
shards           divides the paths of a repository among tasks"""
