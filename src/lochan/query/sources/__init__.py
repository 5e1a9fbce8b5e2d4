"""What `from` names, at one snapshot: each is a Source, as `query/leaves.py` says.

resolve           what a query names, each ref at one snapshot
bounds            the tests that rows must pass, as far as objects can be judged by them without being opened
object_selection  which objects of a snapshot (`pools/snapshot.py`) a plan reads
groups            forms that one scan can read
pool              the rows of a pool
scans             the files and tables that a plan reads, by the names they have in it
"""
