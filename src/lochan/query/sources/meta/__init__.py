"""Metadata as sources: what a lake, a pool or a repository knows of itself, in rows.

of_lake      pools, repositories, branches, tags, users, jobs
of_refs      branches, tags, branchlog, journal, settings
of_objects   objects, partitions
of_history   log, rawlog, changes
of_files     entries, ranges, staged

Each gives rows and the fields they have; docs/language/metadata.md says what these mean.
"""
