"""What `from` names, at one snapshot: each is a Source, as `query/leaves.py` says.

catalog           what a query needs of a lake, and what the user may read
resolve           what a query names, each ref at one snapshot
bounds            the tests that rows must pass, as far as objects can be judged by them without being opened
sql_bounds        the same, of a plan's SQL
object_selection  which objects of a snapshot (`pools/snapshot.py`) a plan reads
pool              the rows of a pool; knowledge, values, key_order, key_range: its parts
in_memory         rows that are in memory; meta/: those of the lake itself
scans             the files and tables that a plan reads, and which forms one scan can read
"""
