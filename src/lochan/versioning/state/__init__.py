"""The parts of the state that a repository's journal folds to; `refs.py` combines them."""
