"""Pools: repositories whose entries are data objects, Parquet files sorted by the pool's key.

    settings        the options of a pool: keys, order of nulls, target size
    kinds           the kinds of values, and the order of values of different kinds
    shape           the names and kinds of a row's fields, in order
    layout          the Parquet columns for the rows of several shapes
    facts           the description of an object in its entry: key span, rows, shapes, statistics
    snapshot        the data objects of one commit
    forms           objects whose rows have the same shapes, and the place of each leaf in their files
    pruning         selects the objects that can hold rows that pass a test, by key; statistics: by their other columns
    commit_objects  writes data objects, and adds them to a branch or replaces others
    changes         the objects that a commit added and removed; feed: the new rows of a branch, from commit to commit
    merge           the rows that a merge, revert or rebase leaves; compaction: which objects are written together

All of this is plain Python: plans are made here, and an engine carries them out."""
