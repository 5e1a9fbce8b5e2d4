"""Pools: repositories whose entries are data objects, Parquet files sorted by the pool's key.

    settings        the options of a pool: keys, order of nulls, target size
    kinds           what a value is, and the order of values of different kinds
    shape           the names and kinds of a row's fields, in order
    layout          which Parquet columns hold the rows of several shapes
    facts           what an entry knows of its object: key span, rows, shapes, statistics
    snapshot        the data objects of one commit
    forms           objects whose rows have the same shapes: where each leaf is in their files
    pruning         which objects can hold rows that pass a test, by key; statistics: by their other columns
    commit_objects  writes data objects, and adds them to a branch or replaces others
    changes         what a commit added and removed; feed: the new rows of a branch, from commit to commit
    merge           which rows a merge, revert or rebase leaves; compaction: which objects are written together

Plain Python: plans are made here, and an engine carries them out.
"""
