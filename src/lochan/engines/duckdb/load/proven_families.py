"""The families of shapes that a table's rows are proven with, and the shape that each mask stands for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from lochan.engines.duckdb.load.columns import ROW, SHAPE
from lochan.engines.duckdb.load.shape_family import SHAPES_MIN, FamilyProof, families, prove
from lochan.engines.duckdb.load.shape_proof import Style
from lochan.formats.pool_settings import Path
from lochan.pools.layout import Layout
from lochan.pools.shape import Object

_FAMILY = "family"  # the number of the family whose text a row has


class ProvenFamilies(NamedTuple):
    proofs: tuple[FamilyProof, ...]
    masks: Mapping[Object, tuple[int, ...]]  # for each shape, the number of the family, then the mask in words

    @classmethod
    def of(
        cls, shapes: Sequence[Object], styles: Mapping[Object, Style], layout: Layout, times: Collection[Path]
    ) -> ProvenFamilies:
        if len(shapes) < SHAPES_MIN:
            return NO_FAMILIES
        proofs: list[FamilyProof] = []
        masks: dict[Object, tuple[int, ...]] = {}
        for family in families(shapes, styles):
            found = prove(family, layout, times)
            if found is not None:
                masks |= {shape: (len(proofs), *family.masks(shape)) for shape in family.shapes}
                proofs.append(found)
        words = max((len(each.masks) for each in proofs), default=0)
        return cls(tuple(proofs), {shape: _pad(mask, words + 1) for shape, mask in masks.items()})

    def rows(self, parsed: str, otherwise: str) -> str:
        """Returns a query for the number and the parsed struct of each row, with the number of its shape. `otherwise`
        is the SQL of that number for rows that are of no family. REQUIRES: there is a family, and `table` is registered
        as `masks`."""
        arms = " ".join(f"WHEN {each.test} THEN {number}" for number, each in enumerate(self.proofs))
        of_family = f"SELECT *, CASE {arms} END AS {_FAMILY} FROM ({parsed})"
        words = len(max(self.proofs, key=lambda each: len(each.masks)).masks)
        masked = ", ".join(f"{self._word(number)} AS {_word(number)}" for number in range(words))
        same = " AND ".join(f"m.{name} = r.{name}" for name in (_FAMILY, *map(_word, range(words))))
        return (
            f"SELECT r.n, CASE WHEN r.{_FAMILY} IS NULL THEN {otherwise} ELSE m.id END AS {SHAPE}, r.{ROW} "
            f"FROM (SELECT *, {masked} FROM ({of_family})) r LEFT JOIN masks m ON {same}"
        )

    def _word(self, number: int) -> str:
        arms = " ".join(
            f"WHEN {family} THEN {each.masks[number]}"
            for family, each in enumerate(self.proofs)
            if number < len(each.masks)
        )
        return f"CASE {_FAMILY} {arms} ELSE 0 END"

    def table(self, ids: Mapping[Object, int]) -> pa.Table:
        columns = list(zip(*self.masks.values(), strict=True))
        names = [_FAMILY, *(_word(number) for number in range(len(columns) - 1))]
        arrays = [pa.array(column, pa.int64()) for column in columns]
        return pa.table([*arrays, pa.array([ids[shape] for shape in self.masks], pa.int32())], [*names, "id"])


def _word(number: int) -> str:
    return f"word{number}"


def _pad(mask: tuple[int, ...], size: int) -> tuple[int, ...]:
    return mask + (0,) * (size - len(mask))


NO_FAMILIES = ProvenFamilies((), {})
