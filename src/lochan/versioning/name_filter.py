"""Which names of a list are wanted: those with a beginning, with some text in them, and after another name."""

from typing import NamedTuple


class NameFilter(NamedTuple):
    prefix: str = ""
    after: str = ""  # a list that is read in parts goes on after the last name of the part before
    contains: str = ""  # anywhere in the name, in any case

    def fits(self, name: str) -> bool:
        return name > self.after and name.startswith(self.prefix) and self.contains.casefold() in name.casefold()


ALL_NAMES = NameFilter()
