"""From the pipe language's tree to one SQL query.

compile(pipe, open_source) -> Plan          plan.sql("duckdb"), plan.row: how its columns become rows again

value          a value as SQL, an expression for each kind it may have
fields         the rows of a source as values, and the way down into them
expressions    ─▶ values; arithmetic, comparison, search, functions/ ─▶ the same, by theme
relations      where rows come from; rows: what is still to be done with them
operators/     rows ─▶ rows
result_columns the columns of the result
"""

from lochan.query.compile.plan import Plan, compile

__all__ = ["Plan", "compile"]
