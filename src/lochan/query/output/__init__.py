"""From an engine's columns back to rows, and to the formats that rows are given in. Nothing here knows an engine."""
