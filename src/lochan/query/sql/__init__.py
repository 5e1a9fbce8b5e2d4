"""The SQL surface: compiles text to the same plans as the pipe language.

    read(text) -> SqlQuery          parsed by sqlglot as DuckDB's SQL; raises QueryError, with the place
      .pipe                         its sources, each with the tests that prune it: to be opened as those of any pipe
      .plan(open_source, now) -> Plan

    parse       text ─▶ tree; a source such as logs@dev may stand without quotes
    sources     the meaning of a table's name
    query       a whole query, WITH, UNION and the like; selects: SELECT and its columns; tables: FROM and joins
    expressions ─▶ values, an SQL expression for each kind they may have; calls, aggregates, windows, subqueries

The user's text never reaches an engine: every node is either known here, and made again from values, or refused by its
name. Missing and null are the same, and both are NULL; comparisons have three outcomes, as in SQL. A value of several
kinds is compared kind by kind, and kept whole if it is selected or grouped by."""
