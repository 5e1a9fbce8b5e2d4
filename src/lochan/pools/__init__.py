"""Pools: repositories whose entries are data objects, Parquet files sorted by the pool's key.

    settings    what a pool was made with: keys, order of nulls, target size
    shape       what a row looks like: names and kinds, in order
    layout      which Parquet columns hold the rows of several shapes
    facts       what an entry knows of its object: key span, rows, shapes, statistics

Plain Python: plans are made here, an engine carries them out.
"""
