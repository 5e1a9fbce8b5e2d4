"""Load: rows of any shape become data objects of a pool, sorted by its key.

    input ──▶ chunks of lines ──▶ staged in typed columns, each row with its shape ──▶ sorted, cut, written as Parquet

read_input       one input into a load, by its format; the readers are in `ingest`
known_shapes     the shapes that were seen, and which of them get columns
staging          tables of the session that the rows go to: verified first, never coerced
shape_inference  rows that no known shape verifies, judged one by one
objects          the staged rows in the key's order as files, with what entries tell of them
"""
