"""Users' files are decoded in an expendable process, for a file may be damaged on purpose.

    server, command ──  a request, open files  ──▶  fork server ──fork──▶  decoder: one job, limits of its own
                    ◀──  batches, rows, or what is wrong  ────────────────

fork_server    a process with one thread and an empty environment that has imported the readers; it forks decoders
decoder        the other side: starts one, talks to it, kills it
process_limits memory, processor time, files and file sizes of a decoder
channel        the messages between the two
batches, rows  what crosses as values. What a decoder says is not trusted: sizes are bounded, Arrow is validated

The readers of formats that need no engine are here too: input_format tells what an input is, streams unpacks it, and
lines, json_elements, xml, avro and tabular (Arrow, Parquet, ORC) make rows of it.
"""
