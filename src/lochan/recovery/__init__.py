"""Checks the files of a lake, and makes them again: every derived file can be computed from the primary ones.

findings       what was found wrong with a file, and what can be done about it
journal_walk   the records of a journal, read from its files and checked link by link
replay         the fold of a journal, which notes how each derived file was made
recipes        how a derived file follows from others
derive         carries a recipe out, into a scratch folder
rebuild        makes the derived files of a repository again, or compares them
lake_files     every file of a lake, by its name
fsck           every file of a lake, checked; repair replaces what is derived
scrub          reads data at a set rate, and remembers where it was
backup         a copy of a lake that is being written to, and a lake from such a copy
"""
