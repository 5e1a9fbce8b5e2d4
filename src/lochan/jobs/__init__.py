"""Work on much data, on Spark: executors write data objects straight to the store, the driver lands them by one event.

    rows of a task ──▶ the embedded loader ──▶ objects on the store ──▶ messages ──▶ one move of the branch
    └──────────────────────── executors ───────────────────────────┘   └──────── driver ────────┘

An object counts once a commit names it. So a task that fails, or runs twice, leaves files that nobody knows of, which
garbage collection takes; it never leaves a row twice, nor half of a job.

target      what an executor must know to write objects of a pool
tasks       each partition of a frame to the work of a task
parts       a task's rows become objects
putting     what a task puts to the store, counted
files       a task's rows become Parquet files of a repository
messages    what tasks tell the driver
failing     why a task failed, told to the driver
apart       a job on a thread of its own
landing     all messages of a job become one commit, once
record      what a job is and how far it has come, for whoever looks
silent      the same, of a job that has no process of its own
listing     the jobs of a lake
load        files of any format become rows of a pool
compact     objects that overlap, or are small, become others
diffing     rows that differ between two commits, with diff_rows for Spark
choosing    which engine does a job
"""
