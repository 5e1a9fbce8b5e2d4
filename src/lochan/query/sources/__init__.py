"""What `from` names, at one snapshot: each is a Source, as `query/leaves.py` says.

snapshot    the data objects of one commit of a pool
bounds      tests that a row must pass, as far as objects can be judged by them without being opened
pruning     which objects can hold rows that pass, and why the others cannot
forms       objects whose rows have the same shapes: where each leaf lies in their files
groups      forms that one scan can read
pool        the rows of a pool
scans       the files and tables that a plan reads, by the names they have in it
"""
