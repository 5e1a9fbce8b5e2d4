"""The names that settings go by, in a file and in the environment, and what to say to a name that is not among them."""

from collections.abc import Collection, Iterator, Mapping

from lochan.config.settings import SETTINGS, Setting
from lochan.errors import Invalid

# Variables that begin with LOCHAN_ and are not settings: the configuration file's name, the first administrator's key,
# which is read once, where a lake is set up, and belongs in no file, and what `bisect run` tells the command it runs.
OTHER_VARIABLES = (
    "LOCHAN_CONFIG",
    "LOCHAN_ADMIN_ACCESS_KEY_ID",
    "LOCHAN_ADMIN_SECRET_ACCESS_KEY",
    "LOCHAN_BISECT_REF",
    "LOCHAN_BISECT_URI",
)


def variable(name: str) -> str:
    """The environment variable of a setting: `api.listen` is LOCHAN_API__LISTEN."""
    return "LOCHAN_" + name.upper().replace(".", "__")


def _names() -> Iterator[tuple[str, Setting]]:
    for setting in SETTINGS:
        for name in (setting.key, *setting.also):
            yield name, setting


BY_NAME: Mapping[str, Setting] = dict(_names())
BY_VARIABLE: Mapping[str, str] = {variable(name): name for name in BY_NAME}
SECTIONS = frozenset(
    ".".join(parts[:depth]) for parts in (name.split(".") for name in BY_NAME) for depth in range(1, len(parts))
)


def no_such_setting(where: str, name: str) -> Invalid:
    return Invalid(
        f"{where}: there is no setting {name!r}{did_you_mean(name, {*BY_NAME, *SECTIONS})}",
        hint="`lochan config show` lists every setting",
    )


def no_such_variable(name: str) -> Invalid:
    return Invalid(
        f"{name} in the environment is no setting{did_you_mean(name, {*BY_VARIABLE, *OTHER_VARIABLES})}",
        hint="unset it, or see `lochan config show` for every setting; sections are parted by two underscores",
    )


def did_you_mean(name: str, names: Collection[str]) -> str:
    """The nearest of `names`; failing that, one that ends in the same word: somebody left out the section."""
    from difflib import get_close_matches  # only a mistake pays for it

    near = get_close_matches(name, sorted(names), n=1) or sorted(each for each in names if each.endswith(f".{name}"))
    return f"; did you mean {near[0]!r}?" if near else ""
