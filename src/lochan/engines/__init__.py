"""What carries plans out: DuckDB in this process, and Spark. Only here are they imported."""
