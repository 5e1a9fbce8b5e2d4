"""The pieces of what a repository's journal folds to; `refs.py` puts them together."""
