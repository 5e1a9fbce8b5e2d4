"""Compares the rows of two commits, of a pool or of files of a repository.

    entries that differ ──▶ lines: each row as one text ──▶ equal lines are counted on both sides ──▶ what is left
    sides.py                lines.py, one_line.py          statements.py, the same for every engine   result.py

Two rows are equal when they come back as the same JSON, whatever order their fields are in: null is not missing, 1 is
not 1.0, and a time is compared as it is written. So rows compare across objects that keep them in different columns, or
as text. Data objects and files that both commits have are not read."""
