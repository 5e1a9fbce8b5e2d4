"""Who decides what happens next. A run is a function of its choices: the same choices, the same run.

Every point of choice offers options, each with a label and a kind. The first option is the default and free; a kind
(`preempt`, `fault`, `jump`, `crash` …) is paid from a budget, and is on offer only while some of it is left.
"""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

Option = tuple[object, str | None]  # label (anything with a readable str), kind (None: free)

UNLIMITED = 1_000_000_000


class Closable(Protocol):
    def close(self) -> None: ...

    def lines(self) -> list[str]: ...


class Chooser:
    """Keeps the budgets and the log; a subclass decides."""

    def __init__(self, budgets: Mapping[str, int], seed: int = 0) -> None:
        self.seed = seed  # also the seed of every id that the run draws
        self.granted = dict(budgets)
        self.left = dict(budgets)
        self.log: list[tuple[int, int]] = []  # (index taken, options on offer), where there was more than one
        self.worlds: list[Closable] = []  # made for this run; its driver closes them

    def allows(self, kind: str) -> bool:
        return self.left.get(kind, 0) > 0

    def choose(self, options: Sequence[Option]) -> int:
        """The index of one of `options`; those whose kind is used up are passed over."""
        left = self.left
        open_ = [i for i, (_, kind) in enumerate(options) if kind is None or left.get(kind, 0) > 0]
        if len(open_) == len(options):
            return self.pick(options)
        return open_[self.pick([options[i] for i in open_])]

    def pick(self, options: Sequence[Option]) -> int:
        """`choose` for a caller that offers only what is allowed."""
        if len(options) == 1:
            index = 0
        else:
            index = self._decide(options)
            self.log.append((index, len(options)))
        kind = options[index][1]
        if kind is not None:
            self.left[kind] -= 1
        return index

    def _decide(self, options: Sequence[Option]) -> int:
        raise NotImplementedError


class Replay(Chooser):
    """Takes the given choices, then always the default. A choice that is not on offer becomes the default, so that an
    altered list (see shrink.py) still plays."""

    def __init__(self, choices: Sequence[int], budgets: Mapping[str, int], seed: int = 0) -> None:
        super().__init__(budgets, seed)
        self._choices = choices

    def _decide(self, options: Sequence[Option]) -> int:
        depth = len(self.log)
        choice = self._choices[depth] if depth < len(self._choices) else 0
        return choice if choice < len(options) else 0


class Script(Chooser):
    """A schedule written by hand. If the next of `words` is part of an option's label, that option is chosen and the
    script goes on; otherwise the default is chosen."""

    def __init__(self, words: Sequence[str], seed: int = 0) -> None:
        kinds = ("preempt", "reorder", "fault", "jump", "crash", "stall", "skew", "stale", "corrupt", "full")
        super().__init__(dict.fromkeys(kinds, UNLIMITED), seed)
        self.words = list(words)  # those still to come; empty once the script was played to its end

    def _decide(self, options: Sequence[Option]) -> int:
        if self.words:
            for i, (label, _) in enumerate(options):
                if self.words[0] in str(label):
                    del self.words[0]
                    return i
        return 0


WALK_BUDGETS: Mapping[str, int] = MappingProxyType(
    {"preempt": UNLIMITED, "reorder": UNLIMITED, "fault": 6, "jump": 4, "crash": 2, "stall": 2, "skew": 2, "stale": 4}
)

# Per kind, the chances of it at one point of choice; each walk draws one of them. Walks that differ in temper find more
# than walks that all do a little of everything.
WALK_RATES: Mapping[str, Sequence[float]] = MappingProxyType(
    {
        "preempt": (0.05, 0.2, 0.6),
        "reorder": (0.0, 0.1, 0.5),
        "fault": (0.0, 0.03, 0.15),
        "jump": (0.0, 0.01, 0.05, 0.2),
        "crash": (0.0, 0.003, 0.02),
        "stall": (0.0, 0.01),
        "skew": (0.0, 0.01),
        "stale": (0.0, 0.2),
        "corrupt": (0.0, 0.02),
        "full": (0.0, 0.02),
    }
)


class Walk(Chooser):
    """Random choices from a seed. Free options are equals; a kind comes up by its rate."""

    def __init__(
        self,
        seed: int,
        budgets: Mapping[str, int] = WALK_BUDGETS,
        rates: Mapping[str, Sequence[float]] = WALK_RATES,
    ) -> None:
        super().__init__(budgets, seed)
        rng = random.Random(seed)
        self._random = rng.random
        self._rates = {kind: rng.choice(rates[kind]) for kind in sorted(rates)}

    def _decide(self, options: Sequence[Option]) -> int:
        draw, rates = self._random, self._rates
        groups: dict[str | None, list[int]] = {}
        for i, (_, kind) in enumerate(options):
            if kind in groups:
                groups[kind].append(i)
            else:
                groups[kind] = [i]
        chosen = groups.pop(None, None)
        for kind, group in groups.items():
            if draw() < rates.get(kind, 0.05):  # type: ignore[arg-type]  # None was taken out
                chosen = group
                break
        if chosen is None:
            chosen = list(range(len(options)))
        return chosen[int(draw() * len(chosen))] if len(chosen) > 1 else chosen[0]


class Stretches(Walk):
    """A walk in which each machine goes on undisturbed for a stretch, up to as many requests as it sends in all. So a
    long job can run from its beginning to its end between two requests of a short one, which a walk that draws at each
    step hardly ever lets it do."""

    def __init__(
        self, seed: int, budgets: Mapping[str, int], rates: Mapping[str, Sequence[float]], lengths: Mapping[str, int]
    ) -> None:
        """`lengths`: how many requests each machine sends, by its name."""
        super().__init__(seed, budgets, rates)
        self.seed = 0  # of ids: the same in all schedules, so that codecs meet the same bytes again
        self._to_its_end = seed % 3 / 6  # the chance of a stretch that lasts
        self._lengths = lengths
        self._steps = 0
        self._machine = ""

    def _decide(self, options: Sequence[Option]) -> int:
        preempting = [i for i, (_, kind) in enumerate(options) if kind == "preempt"]
        if not preempting:
            return self._begin(options, super()._decide(options))
        others = [i for i, (_, kind) in enumerate(options) if kind != "preempt"]
        if _machine(options[others[0]]) != self._machine:
            self._begin(options, others[0])
        self._steps -= 1
        if self._steps < 0:
            return self._begin(options, preempting[int(self._random() * len(preempting))])
        return others[super()._decide([options[i] for i in others])] if len(others) > 1 else others[0]

    def _begin(self, options: Sequence[Option], index: int) -> int:
        """Draws how long the machine of that option goes on: to its end, or rather short."""
        self._machine = _machine(options[index])
        length = self._lengths.get(self._machine, _LENGTH)
        self._steps = UNLIMITED if self._random() < self._to_its_end else int(self._random() ** 2 * length)
        return index


_LENGTH = 20


def _machine(option: Option) -> str:
    return str(getattr(option[0], "machine", ""))
