"""From a query's text to one relational plan, and from the plan to text for an engine.

text ─ syntax/ ─▶ ast ─ compile/ ─▶ sqlglot tree ─ dialects ─▶ SQL of DuckDB or Spark
                         ▲
       sources/ ─────────┘  what `from` names, at one snapshot, pruned
"""
