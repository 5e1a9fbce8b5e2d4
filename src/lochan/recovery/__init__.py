"""Checks the files of a lake, and makes them again: every derived file can be computed from the primary ones.

findings       damage that was found, and what can be done about it
journal_walk   the records of a journal, read from its files and checked link by link
replay         the fold of a journal, which records how each derived file was made
recipes        how a derived file follows from others
derive         carries a recipe out, into a scratch folder
rebuild        makes the derived files of a repository again, or compares them
lake_files     every file of a lake, by its name
fsck           checks every file of a lake; repair replaces derived files
scrub          reads data at a set rate, and remembers its position
backup         a copy of a lake that is being written to, and a lake from such a copy"""
