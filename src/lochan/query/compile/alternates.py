"""The alternates of a value, some of which are made when they are asked for: most queries never look at what a sum says
where there is none, and to say it takes more SQL than the sum itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lochan.query.compile.sql import Sql


class Alternates(Mapping[str, Sql]):
    def __init__(self, made: Mapping[str, Sql], later: Mapping[str, Callable[[], Sql]]) -> None:
        self._made = dict(made)
        self._later = later
        self._kinds = dict.fromkeys([*made, *later])

    def __getitem__(self, kind: str) -> Sql:
        if kind not in self._made and kind in self._later:
            self._made[kind] = self._later[kind]()
        return self._made[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
