"""Spark, for work that is too much for one machine's DuckDB. Nothing here imports pyspark before it is needed.

place      where Spark runs, and whether it can run here
said       what a JVM says, kept back
session    one session for all queries of this process
scan       what a plan reads, as views
run        a plan, run: its rows as Arrow batches
"""
