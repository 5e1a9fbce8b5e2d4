"""DuckDB, within this process: small work needs no server and no JVM.

session        one connection with its limits; instances keeps opened databases for the next session
files          the bytes of data objects, as paths that DuckDB opens; copies: those of other stores
run            runs a plan, and returns its rows as Arrow batches
load           turns rows of any format into data objects
data_objects   reads the data objects of a head, and stores new ones
rewrite        writes rows of data objects into new ones; delete and merge_rows use it
diff_rows      compares the rows of two commits"""
