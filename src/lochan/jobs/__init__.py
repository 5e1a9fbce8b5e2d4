"""Work on much data, on Spark: executors write data objects straight to the store, the driver lands them by one event.

    rows of a task ──▶ the embedded loader ──▶ objects on the store ──▶ messages ──▶ one move of the branch
    └──────────────────────── executors ───────────────────────────┘   └──────── driver ────────┘

An object counts once a commit names it. So a task that fails, or runs twice, leaves files that nothing names, which
garbage collection deletes; it never leaves a row twice, nor half of a job.

write         one write from its beginning to its end: of a frame, a data source, a batch of a stream
tasks         work on Spark: on a thread of its own, and on each partition of a frame
pool_writer   a task's rows become objects of a pool
file_writer   a task's rows become Parquet files of a repository
messages      the information that tasks get, and their reports to the driver: objects, or why they failed
job_commit    all messages of a job become one commit, once
record        a job and its progress, and the jobs of a lake
load          files of any format become rows of a pool
compaction    objects that overlap, or are small, become others: compaction_plan selects them, compaction_tasks is for
              executors, upkeep goes over all pools by a policy
streams       topics, files and frames that are followed into a pool
diff_rows     rows that differ between two commits"""
