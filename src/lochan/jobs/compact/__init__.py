"""A compaction on Spark: groups of objects that one object holds are merged by a task each, larger ones by many.

    objects of a group ──▶ rows, each with its part of the key ──▶ the rows of one part, in order ──▶ one object
    └──────────────── tasks ─────────────────────┘   shuffle   └──────────────── tasks ─────────────────┘

Rows stay as they lie in the files, column by column under one layout, so that each keeps its shape. Parts are cut by a
sample of the keys, and do not overlap.

tasks       what is to be merged, and what executors do
compact     from the plan to the commit, on the engine that fits
"""
