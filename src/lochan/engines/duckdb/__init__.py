"""DuckDB, inside this process: small work needs no server and no JVM.

session     one connection with its limits, closed with all that it used
files       where the bytes of data objects are, as paths that DuckDB opens
run         a plan's rows, as Arrow batches
"""
