"""Arrow imports pandas wherever it is installed, to see whether a value is of it: a third of a small query's time."""

import sys

own_process = False  # set by `main`: in a process of somebody else nothing is taken away


def without_pandas() -> None:
    """From now on there is none in this process. For verbs that run no Spark."""
    if own_process:
        sys.meta_path.insert(0, _NoPandas())


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
