"""A table and its forks behave like dictionaries, whatever the order of forks and joins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lochan.journal.table import FoldTable

pytestmark = pytest.mark.thorough

_STEPS = st.lists(st.tuples(st.sampled_from("pdfjx"), st.integers(0, 4), st.integers(1, 99)), max_size=60)


@given(_STEPS)
def test_like_a_stack_of_dictionaries(steps: list[tuple[str, int, int]]) -> None:
    tables: list[FoldTable[int, int]] = [FoldTable()]
    models: list[dict[int, int]] = [{}]
    for what, key, value in steps:
        match what:
            case "p":
                tables[-1].put(key, value)
                models[-1][key] = value
            case "d":
                tables[-1].drop(key)
                models[-1].pop(key, None)
            case "f":
                tables.append(tables[-1].fork())
                models.append(dict(models[-1]))
            case "j" if len(tables) > 1:
                tables.pop().join()
                models[-2] = models[-1]
                models.pop()
            case "x" if len(tables) > 1:  # thrown away: the parent must not have noticed
                tables.pop()
                models.pop()
        for table, model in zip(tables, models, strict=True):
            assert dict(table.items()) == model
            assert all(table.get(k) == model.get(k) and (k in table) == (k in model) for k in range(5))
