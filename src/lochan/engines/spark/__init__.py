"""Spark, for work that is too much for one machine's DuckDB. Nothing here imports pyspark before it is needed.

place       where Spark runs, and whether it can run here
port_check  whether a server listens there
jvm_stderr  what a JVM prints, kept back unless something fails
session     one session for all queries of this process
package     Lochan itself, for executors that have none
file_access, s3a  how Spark gets at data objects
scan        what a plan reads, as views
run         a plan, run: its rows as Arrow batches
job         one statement on a thread of its own, with its limits
waves       rows of a frame, some partitions at a time
progress    how far Spark is
errors      what Spark has failed by, as an error of ours
"""
