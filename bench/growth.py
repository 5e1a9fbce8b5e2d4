"""What an item costs as a lake grows: each measure at 1, 4 and 16 times the size, in a table and in a picture.

A module that has measures names them in `GROWTH`, and is named in `_MODULES` below. `--entries 10000000` takes other
sizes; pictures are only drawn of several.
"""

import tempfile
from importlib import import_module
from pathlib import Path

from bench.growth_measure import GrowthMeasure
from bench.picture import line_chart
from bench.sizes import sizes
from bench.table import show

_MODULES = ("bench.growth_trees", "bench.growth_requests", "bench.growth_pools")
_SIZES = (62_500, 250_000, 1_000_000)
_PICTURES = Path(__file__).parent / "pictures"


def main() -> None:
    chosen = sizes(_SIZES)
    for module in _MODULES:
        measures: tuple[GrowthMeasure, ...] = import_module(module).GROWTH
        found: dict[str, dict[int, float]] = {measure.name: {} for measure in measures}
        for size in chosen:
            with tempfile.TemporaryDirectory(prefix="lochan-bench-") as folder:
                for measure in measures:
                    found[measure.name][size] = measure.cost(Path(folder), size)
        rows = [[each.title, *found[each.name].values(), each.unit, _grown(found[each.name])] for each in measures]
        show(f"growth, {module}", ["", *(f"{size:,}" for size in chosen), "", "last to first"], rows)
        if len(chosen) > 1:
            _PICTURES.mkdir(exist_ok=True)
            for each in measures:
                picture = line_chart(each.title, each.unit, found[each.name])
                (_PICTURES / f"{each.name}.svg").write_text(picture)


def _grown(costs: dict[int, float]) -> float:
    values = [*costs.values()]
    return values[-1] / values[0]


if __name__ == "__main__":
    main()
