"""Operators: from rows to rows. One file for each family."""
