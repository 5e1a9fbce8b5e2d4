"""Streams of rows: each batch of them is one commit, and no row comes twice.

    folder, socket, rate, frames ──▶ Spark's batches ──▶ tasks ──┐
                                                                 ├──▶ one commit, which names the batch
    topics of Kafka ──▶ batches by time, in this process ────────┘

A stream that was killed begins again after the newest batch of the branch. The commit itself holds the position of the
stream, so the rows and the position can never disagree.

batches        Spark's batches, each as one commit
spark_stream   a stream of Spark in a session of the user's own, or followed until its end
sources        folders, sockets and generated rows, and the work of a task on them
kafka          messages of topics, from given offsets on, and the offsets of the next ones, in a commit
topics         topics of Kafka, followed into a pool
compaction     when small objects are merged, and how far"""
