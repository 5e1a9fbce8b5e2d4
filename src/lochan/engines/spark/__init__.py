"""Spark, for work that is too much for one machine's DuckDB. Nothing here imports pyspark before it is needed.

place       where Spark runs, and whether it can run here
answering   whether somebody listens there
said        what a JVM says, kept back
session     one session for all queries of this process
package     Lochan itself, for executors that have none
reach, s3a  how Spark gets at data objects
scan        what a plan reads, as views
run         a plan, run: its rows as Arrow batches
job         one statement on a thread of its own, with its limits
waves       rows of a frame, some partitions at a time
watching    how far Spark is
explaining  what Spark has failed by
"""
