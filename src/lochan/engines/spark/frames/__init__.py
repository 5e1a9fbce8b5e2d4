"""A pool, or Parquet files of a repository, as a frame of a session of the user's own.

    read_plan ──▶ frame           Spark's own scan of the Parquet files that pruning has left
              └─▶ source_parts    the same by the data source: tasks run the plan on the embedded engine
              └─▶ source_scan     the same where the data source runs in the JVM
    table_files ─▶ table_frame    files of a repository that are a table, and source_parts again

read_plan       what is to be read: the plan of a query for every field, in any order
typed_columns   rows of any shape as columns of a frame, with wide_numbers
origin          the commit that a frame was read at, which it carries
row_origin      columns that say where a row comes from
table_schema    the columns of a table of files
"""
