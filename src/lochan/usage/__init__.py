"""The usage log of a lake: written by every process that reads, read by retention rules and queries.

row_buffer   rows that are written in the background
log          what a process that runs for long writes: rows, and a mark while it is open
notes        what the command line, Python and Spark write when they read
read         the log as one table, with the spans that it covers and its gaps
last_read    up to when reads may have gone unnoticed, and what was read since
compaction   one file for each day, and the end of old days
"""
