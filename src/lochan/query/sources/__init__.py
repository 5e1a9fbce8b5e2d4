"""The sources that `from` names, at one snapshot: each is a Source, as defined in `query/leaves.py`.

catalog           the parts of a lake that a query needs, and the user's permissions
resolve           finds the sources that a query names, each ref at one snapshot
bounds            tests that rows must pass, and by which objects can be pruned without being opened
sql_bounds        the same for a plan's SQL
object_selection  the objects of a snapshot (`pools/snapshot.py`) that a plan reads
pool              the rows of a pool; knowledge, values, key_order, key_range: its parts
in_memory         rows that are in memory; meta/: those of the lake itself
scans             the files and tables that a plan reads, and which forms one scan can read"""
