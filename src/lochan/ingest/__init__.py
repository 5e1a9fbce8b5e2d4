"""Users' files are decoded in an expendable process, because a file may be damaged on purpose.

    server, command ──  a request, open files  ──▶  fork server ──fork──▶  decoder: one job, its own limits
                    ◀──  batches, rows, or an error  ─────────────────────

fork_server    a process with one thread and an empty environment. It imports the readers and forks decoders
decoder        the caller's side: starts a decoder, talks to it, kills it
process_limits the decoder's limits of memory, processor time, files and file sizes
channel        the messages between the two. A decoder is not trusted: sizes are bounded, Arrow data is validated

The readers of formats that need no engine are here too: input_format detects the format, streams unpacks the bytes, and
lines (text, NDJSON, JSON), xml, avro, tabular and arrow_batches (Arrow, Parquet, ORC) turn them into rows. hive_path
reads columns from the paths of files.
"""
