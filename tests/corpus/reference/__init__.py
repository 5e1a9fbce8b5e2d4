"""A second meaning of the language, to hold the first against: a query played over plain Python rows.

It is slow, short and shares nothing with the compiler but the syntax tree. Where the two differ, one of them is wrong.
"""
