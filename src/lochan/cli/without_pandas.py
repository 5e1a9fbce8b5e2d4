"""What Arrow imports needlessly. It imports pandas, if installed, to check the types of values: a third of a small
query's time. And it imports a parser of docstrings, for help on its functions: a thirtieth."""

import sys
from types import ModuleType

own_process = False  # set by `main`: in a process of somebody else nothing is taken away
_READER = "pyarrow.vendored.docscrape"


def without_pandas() -> None:
    """From now on there is none in this process. For verbs that run no Spark."""
    if own_process:
        sys.meta_path.insert(0, _NoPandas())
        sys.modules.setdefault(_READER, _NoManuals(_READER))


class _NoPandas:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)


class _NoManuals(ModuleType):
    @staticmethod
    def NumpyDocString(_: str) -> dict[str, list[str]]:
        return {"Parameters": []}
