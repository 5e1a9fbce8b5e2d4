"""Compiles a query's text to one relational plan, and the plan to text for an engine.

text ─ syntax/ ─▶ ast ─ compile/ ─▶ sqlglot tree ─ dialects/ ─▶ SQL of DuckDB or Spark ─▶ columns ─ output/ ─▶ rows
text ─ sql/ ────────────────────────────▲
            sources/ ───────────────────┘  the sources of `from`, at one snapshot, pruned

`prepare` does all of it. `leaves` defines what a source promises to a plan, `functions` what a query may call."""
