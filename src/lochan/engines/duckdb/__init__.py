"""DuckDB, within this process: small work needs no server and no JVM.

session        one connection with its limits; instances keeps opened databases for the next session
files          where the bytes of data objects are, as paths that DuckDB opens; copies: those of other stores
run            runs a plan: its rows as Arrow batches
load           rows of any format become data objects
data_objects   reads the data objects of a head, and stores new ones
rewrite        writes rows of data objects into new ones; delete and merge_rows use it
diff_rows      compares the rows of two commits
"""
