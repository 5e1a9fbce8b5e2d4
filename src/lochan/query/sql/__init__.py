"""The SQL surface: from text to the same plans that the pipe language has.

    read(text) -> SqlQuery          parsed by sqlglot as DuckDB's SQL; raises QueryError, with the place
      .pipe                         its sources, each with the tests that prune it: to be opened as those of any pipe
      .plan(open_source, now) -> Plan

    parse       text ─▶ tree; a source such as logs@dev may stand without quotes
    sources     what a table's name means
    query       a whole query, WITH, UNION and the like; selects: SELECT and its columns; tables: FROM and joins
    expressions ─▶ values, an SQL expression for each kind they may have; calls, aggregates, windows, subqueries

Nothing of the user's text reaches an engine: every node is either known here, and made anew from values, or refused by
its name. A value is missing or null alike, and both are NULL; comparisons have three outcomes, as in SQL. What has
several kinds is compared kind by kind, and carried whole where it is selected or grouped by.
"""
