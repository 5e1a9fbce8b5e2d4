"""A pool, or Parquet files of a repository, as a frame of a session of the user's own.

    read_plan ──▶ frame           Spark's own scan of the Parquet files that pruning has left
              └─▶ source_parts    the same by the data source: tasks run the plan on the embedded engine
    feed_plan ───▶ feed_parts     the new rows of a branch, batch by batch, and what its commits changed
              └─▶ source_scan     the same where the data source runs in the JVM
    table_files ─▶ table_frame    files of a repository that are a table, and source_parts again

read_plan       what is read: the plan of a query for every field, in any order
feed            a branch as a stream: where it begins, how far a batch goes, what it reads
typed_columns   rows of any shape as columns of a frame, with wide_numbers
field_order     columns with the same fields in another order
origin          the commit that a frame was read at, which it carries
row_origin      columns with the place that a row comes from
table_schema    the columns of a table of files"""
