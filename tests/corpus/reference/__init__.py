"""A second implementation of the query language, to compare the first with: it runs a query over plain Python rows.

It is slow and short, and shares only the syntax tree with the compiler. If the two differ, one of them is wrong.
"""
