"""What a merge does about conflicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lochan.errors import Invalid

ASK, SOURCE, DEST, BASE = "default", "source-wins", "dest-wins", "base-wins"
_KNOWN = (ASK, SOURCE, DEST, BASE)


@dataclass(frozen=True, slots=True)
class Strategy:
    """By the longest of `prefixes` that fits a path, or else by `otherwise`. The source is theirs, the destination
    ours; with "default" the user is asked, and with "base-wins" neither side's change is taken."""

    otherwise: str = ASK
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (self.otherwise, *self.prefixes.values()):
            if name not in _KNOWN:
                raise Invalid(f"{name!r} is no strategy of a merge", hint=f"there are {', '.join(_KNOWN)}")

    def decide(self, paths: pa.StringArray) -> npt.NDArray[np.object_]:
        decided = np.full(len(paths), self.otherwise, dtype=object)
        for prefix in sorted(self.prefixes, key=len):
            decided[pc.starts_with(paths, prefix).to_numpy(zero_copy_only=False)] = self.prefixes[prefix]
        return decided
