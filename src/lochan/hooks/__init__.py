"""Hooks of a repository: files under `_lochan/hooks/` that name the checks before a change, and the calls after it.

hook_file     the YAML files, with the line and the column of a mistake
templates     ready queries: schema, row count, share of nulls
gate          judges a change before it lands: reads the files, runs what applies, keeps a record
query_hook    a query of the tree that would be, whose result must be empty
webhook       a signed request to an address that is not inside, looked up and checked at every step
python_hook   a function of an administrator's module, in a process of its own
runs          the records of runs
"""
