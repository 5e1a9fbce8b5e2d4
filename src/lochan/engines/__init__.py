"""The engines that run plans: DuckDB in this process, and Spark. Nothing else imports them.

run_query      a query from its text to its result, on the engine that fits; explain: what it would read
duckdb         runs queries, loads rows, deletes, rewrites and merges data objects
spark          runs queries on Spark
row_diff       which rows differ between two commits
compact        merges the data objects of a branch; upkeep: does so for all pools, by a policy
"""
