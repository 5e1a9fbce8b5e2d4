"""Pools: repositories whose entries are data objects, Parquet files sorted by the pool's key.

    settings    what a pool was made with: keys, order of nulls, target size
    shape       what a row looks like: names and kinds, in order
    layout      which Parquet columns hold the rows of several shapes
    facts       what an entry knows of its object: key span, rows, shapes, statistics
    snapshot    the data objects of one commit
    forms       objects whose rows have the same shapes: where each leaf lies in their files
    pruning     which objects can hold rows that pass a test, by key; statistics: by their other columns
    merge       which rows a merge, revert or rebase leaves; compaction: which objects are written together

Plain Python: plans are made here, an engine carries them out.
"""
