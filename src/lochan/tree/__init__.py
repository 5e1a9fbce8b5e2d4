"""Ranges and metaranges: a commit's entries as sorted Parquet files that commits share."""
