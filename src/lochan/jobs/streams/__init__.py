"""Streams of rows: each batch of them is one commit, and no row comes twice.

    folder, socket, rate, frames ──▶ Spark's batches ──▶ tasks ──┐
                                                                 ├──▶ one commit, with what names the batch in it
    topics of Kafka ──▶ batches by time, in this process ────────┘

A stream that was killed begins again behind the newest batch of the branch. The commit itself holds the position of the
stream, so the rows and the position can never disagree.

batches        Spark's batches, each as one commit
spark_stream   a stream of Spark in a session of the user's own, or followed until its end
sources        folders, sockets and made-up rows, and what a task does with them
kafka          messages of topics, from given offsets on, and how far they are read, in a commit
topics         topics of Kafka, followed into a pool
compaction     when small objects are merged, and how far
"""
