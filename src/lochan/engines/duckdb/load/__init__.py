"""Load: rows of any shape become data objects of a pool, sorted by its key.

    input ──▶ chunks of lines ──▶ staged in typed columns, each row with its shape ──▶ sorted, cut, written as Parquet

load             the whole load: inputs become one commit
read_input       reads one input, by its format; the readers are in `ingest`, decode runs them in another process
loader           takes rows in, and writes files of data objects
known_shapes     the shapes that were seen, and which of them get columns
shape_proof      SQL that proves the shape of a row; shape_inference: infers the shape of single rows
staging          tables of the session for the rows: with proven shapes, never coerced
single_pass      most lines of a long input, proven, sorted and written in one statement, without staging
relation         the staged tables under one layout
objects          the staged rows as files, in the order of the key, with their facts
"""
