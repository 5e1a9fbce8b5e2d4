"""Rows that come on and on: each batch of them is one commit, and none of them comes twice.

    folder, socket, rate, frames ──▶ Spark's batches ──▶ tasks ──┐
                                                                 ├──▶ one commit, with what names the batch in it
    topics of Kafka ──▶ batches by time, in this process ────────┘

Whoever is killed begins again behind the newest batch that the branch has: the commit itself tells how far the stream
is, so what is read and how far it was read can never disagree.

batches        Spark's batches, each as one commit
spark_stream   a stream of Spark in a session of the user's own, or followed until its end
sources        folders, sockets and made-up rows, and what a task does with them
kafka          messages of topics, from given offsets on, and how far they are read, in a commit
topics         topics of Kafka, followed into a pool
compaction     when small objects are merged, and how far
"""
