"""Operators, which make rows from rows. There is one file for each family."""
