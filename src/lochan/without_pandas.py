"""Imports that Arrow does not need. It imports pandas, if that is installed, to check the types of values: 50 MB, and a
third of the time of a small query. It also imports a parser of docstrings, for help on its functions.
"""

import sys
from types import ModuleType

own_process = False  # set by the command line: nothing is hidden in a process that belongs to somebody else
_DOCSTRINGS = "pyarrow.vendored.docscrape"


def without_pandas() -> None:
    """Hides pandas and the docstrings for the rest of this process, if it is our own. For verbs that run no Spark."""
    if own_process:
        hide_pandas()
        sys.modules.setdefault(_DOCSTRINGS, _NoDocstrings(_DOCSTRINGS))


def hide_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas())


def arrow_without_pandas() -> None:
    """Hides pandas only while Arrow looks for it, which it does once. Other code can still import pandas."""
    if "pandas" in sys.modules:
        return
    absent = _NoPandas()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(absent)


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _NoDocstrings(ModuleType):
    @staticmethod
    def NumpyDocString(_: str) -> dict[str, list[str]]:
        return {"Parameters": []}
