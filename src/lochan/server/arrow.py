"""Arrow without pandas, in processes that have no need of it."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def arrow_without_pandas() -> None:
    """Arrow asks of every list whether it is one of pandas' kinds, and to ask it imports pandas where that is
    installed: a quarter of a second in which nobody is answered, in the midst of the first upkeep, and 50 MB. Told once
    that there is none, it believes that; whoever imports pandas himself gets it."""
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(absent)


class _Absent:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None
