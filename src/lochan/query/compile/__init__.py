"""Compiles the pipe language's tree to one SQL query.

compile(pipe, open_source) -> Plan          plan.sql("duckdb"), plan.row: how its columns become rows again

plan           a whole query; bindings: parts of expressions as columns of their own
value          a value as SQL, an expression for each kind it may have; sql: small pieces of SQL; logic: tests
fields         the rows of a source as values, and access to the fields inside of them
expressions    ─▶ values; arithmetic, comparison, constructors, patterns, functions/, aggregates ─▶ the same, by theme
numbers        decimals, moments, texts: numbers, times and texts of rows beyond an engine's types
relations      the origin of rows, and the filters and orders that are still to be applied
operators/     rows ─▶ rows"""

from lochan.query.compile.plan import Plan, compile

__all__ = ["Plan", "compile"]
