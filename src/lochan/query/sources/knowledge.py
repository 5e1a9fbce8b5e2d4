"""The properties of the rows of several forms together: their shapes under one numbering, and the kinds at each
path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lochan.pools.forms import OPEN_KINDS, Form, Place
from lochan.pools.kinds import ARRAY, DECIMAL, JSON, NULL, ORIGINAL, TIME
from lochan.pools.layout import DIGITS_MAX, DecimalColumn
from lochan.pools.shape import TEXT_TIME, Array, Leaf, Object, Path, Type, kind_of, shape_id, sure, type_at, unify
from lochan.query.leaves import Digits, LeafInfo


class Knowledge:
    def __init__(self, forms: Iterable[Form]) -> None:
        self.forms = list(forms)
        self.shapes: dict[int, Object] = {}
        self._renumbered: dict[Form, dict[int, int]] = {}
        for form in self.forms:
            self._number(form)
        self._known: dict[Path, Sequence[LeafInfo]] = {}
        self._elements: dict[Path, Type] = {}
        self._decimals: dict[Path, Digits | None] = {}
        self._texts: set[Path] = set()  # paths whose lists are read as text, since no single type holds them all

    def renumbered(self, form: Form) -> Mapping[int, int]:
        """Returns the numbers of shapes in the objects of this form that mean another shape elsewhere."""
        return self._renumbered.get(form, {})

    @property
    def text_shapes(self) -> set[int]:
        """The shapes that only rows stored as text have."""
        texts, others = set[int](), set[int]()
        for form in self.forms:
            here = {self.renumbered(form).get(there, there) for there in form.shapes}
            (texts if form.body else others).update(here)
        return texts - others

    def known(self, path: Path) -> Sequence[LeafInfo]:
        if path not in self._known:
            self._known[path] = self._look_up(path)
        return self._known[path]

    def members(self, path: Path) -> Sequence[str]:
        names: dict[str, None] = {}
        for form in self.forms:
            for shape in form.shapes.values():
                inner = type_at(shape, path)
                if inner is not None and isinstance(there := sure(inner), Object):
                    names.update(dict.fromkeys(there.names()))
        return list(names)

    def place(self, form: Form, leaf: Leaf) -> Place | None:
        """Returns where the files of a form have a leaf that is known."""
        return form.place(leaf, leaf.path in self._texts)

    def element(self, leaf: Leaf) -> Type:
        """Returns the element type of an array, over all forms; for decimals, a type that holds them all."""
        if leaf.kind == DECIMAL:
            digits = self._digits(leaf.path)
            return NULL if digits is None else f"{DECIMAL}:{digits.scale}"
        return self._elements.get(leaf.path, NULL)

    def _number(self, form: Form) -> None:
        for there, shape in form.shapes.items():
            if self.shapes.setdefault(there, shape) != shape:
                here = shape_id(shape, self.shapes)
                self.shapes[here] = shape
                self._renumbered.setdefault(form, {})[there] = here

    def _look_up(self, path: Path) -> Sequence[LeafInfo]:
        types: dict[Type, None] = {}
        for form in self.forms:
            types.update(dict.fromkeys(form.types(path)))
        kinds = dict.fromkeys(map(kind_of, types))
        if any(form.is_open for form in self.forms):
            kinds.update(dict.fromkeys(OPEN_KINDS))
        if ARRAY in kinds:
            element = self._common(path, [type for type in types if isinstance(type, Array)])
            if element is None:
                self._texts.add(path)
                kinds = dict.fromkeys(JSON if kind == ARRAY else kind for kind in kinds)
            else:
                self._elements[path] = element
        formats = tuple(
            type.partition(":")[2]
            for type in types
            if isinstance(type, str) and kind_of(type) == TIME and type != TEXT_TIME
        )
        there = len(kinds) > 1 and all(form.has_always(path) for form in self.forms)
        found = [self._leaf(Leaf(path, kind), formats if kind == TIME else (), there) for kind in kinds]
        if TEXT_TIME in types:
            found.append(LeafInfo(Leaf(path, ORIGINAL), always=False))
        return self._with_decimals(path, found) if JSON in kinds else found

    def may_say_times(self, path: Path) -> bool:
        """Returns whether strings at this path, which is declared as a time, may be times."""
        return any(form.may_say_times(path) for form in self.forms)

    def _with_decimals(self, path: Path, found: list[LeafInfo]) -> list[LeafInfo]:
        digits = self._digits(path)
        if digits is None:
            return found
        if digits == (0, 0):
            return [each._replace(numberless=each.leaf.kind == JSON) for each in found]
        alone = all(each.alone or not each.text for each in self._columns(path) if each is not None)
        return [*found, LeafInfo(Leaf(path, DECIMAL), always=False, digits=digits, alone=alone)]

    def _columns(self, path: Path) -> list[DecimalColumn | None]:
        return [form.decimals(path, path in self._texts) for form in self.forms]

    def _digits(self, path: Path) -> Digits | None:
        """Returns the digits of the decimals at a path, if every form has its numbers as decimals and one type holds
        them all. If there are no numbers, it returns no digits; None means that the texts must be read."""
        if path not in self._decimals:
            self._decimals[path] = _join_digits(self._columns(path))
        return self._decimals[path]

    def _leaf(self, leaf: Leaf, formats: tuple[str, ...], there: bool) -> LeafInfo:
        places = [self.place(form, leaf) for form in self.forms]
        always = all(place is not None and place.always for place in places)
        element = self.element(leaf) if leaf.kind == ARRAY else NULL
        return LeafInfo(leaf, always, element, formats, otherwise=there and leaf.kind == NULL)

    def _common(self, path: Path, arrays: Iterable[Array]) -> Type | None:
        """Returns the element type that one typed list can hold, or None if there is none."""
        of: Type | None = None
        for array in arrays:
            both = unify(of, array.of)
            if both is None and (of, array.of) != (None, None):
                return None
            of = both
        places = [form.place(Leaf(path, ARRAY)) for form in self.forms]
        return None if of is None or any(place and place.list_of is None for place in places) else of


def _join_digits(columns: Sequence[DecimalColumn | None]) -> Digits | None:
    present = [each for each in columns if each is not None]
    whole, scale = (max((getattr(each, side) for each in present), default=0) for side in ("whole", "scale"))
    fits = len(present) == len(columns) and whole + scale <= DIGITS_MAX
    if not fits:
        return None
    some = any(each.column for each in present)
    return Digits(whole, scale) if whole + scale else Digits(int(some), 0)
