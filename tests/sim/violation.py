"""How a simulated run ends early: a rule was broken, the run became too long, or its machine is dead."""

from collections.abc import Mapping, Sequence


class Violation(AssertionError):
    """A rule was broken. The driver of the run fills in what is needed to see it and to play it again."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.trace: list[str] = []
        self.choices: list[int] = []
        self.budgets: dict[str, int] = {}
        self.seed = 0

    def witnessed(self, trace: list[str], choices: Sequence[int], budgets: Mapping[str, int], seed: int) -> "Violation":
        """The same violation with its evidence. Trailing zeros say "the default", so they are left out."""
        self.trace, self.budgets, self.seed = trace, dict(budgets), seed
        self.choices = list(choices)
        while self.choices and self.choices[-1] == 0:
            self.choices.pop()
        return self

    def __str__(self) -> str:
        if not self.trace:
            return self.message
        again = f"replay(run, {self.choices}, {self.budgets}, seed={self.seed})"
        return "\n".join([self.message, *("    " + line for line in self.trace), again])


class Prune(Exception):
    """The run is longer than its bound and proves nothing: neither a violation nor its absence."""


class NothingPlanted(Exception):
    """A planted bug changes something that is not there. No run: it ends the exploration."""


class Diverged(Exception):
    """The same choices led elsewhere: something in the run is not deterministic, so nothing it shows can be trusted."""


class Crashed(BaseException):
    """Code of a dead machine tried to act on the world.

    A BaseException, so that no `except Exception` of the code under test takes it for an error it could handle.
    """
