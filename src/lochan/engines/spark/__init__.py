"""Spark, for work that is too much for one machine's DuckDB. Nothing here imports pyspark before it is needed.

place         where Spark runs, whether it can run here, and whether a server answers there
session       one session for all queries of this process
executors     what executors need: Lochan itself, the lake's store, a folder
file_access   how Spark accesses data objects, with bucket_check and object_stats
scan          what a plan reads, as views
run           runs a plan: its rows are Arrow batches
job           one statement on a thread of its own, with its limits
waves         rows of a frame, some partitions at a time, and how finely work is divided
progress      the progress of Spark, reported to listeners and to the record of a job
errors        Spark's failures as our errors
frames        pools and files as frames of a session of the user's own"""
