"""The queries of the corpus, each with its name: `# name` on a line, the query on the next ones."""

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "queries"


class Case(NamedTuple):
    file: str
    name: str
    query: str

    @property
    def id(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def ordered(self) -> bool:
        """Whether the language defines the order of the rows."""
        return self.file == "order"


def cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.txt")) for case in _of_file(path)]


def _of_file(path: Path) -> list[Case]:
    found = []
    for block in path.read_text().split("# ")[1:]:
        name, _, query = block.partition("\n")
        found.append(Case(path.stem, name.strip(), query.strip()))
    return found
