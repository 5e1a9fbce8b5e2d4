"""Resources, which actions are about, as one line of text each; and patterns of such lines, for policies.

    repository/NAME                             the repository itself
    repository/NAME/branch/BRANCH               a branch, likewise …/tag/TAG and …/commit/ID
    repository/NAME/branch/BRANCH/object/PATH   an object as the branch has it, likewise below tag and commit
    user/NAME   group/NAME   policy/NAME   lake

In a pattern `*` stands for any letters and `?` for one. Neither goes across a slash, so that a branch's pattern cannot
reach into paths; but in PATH, which is a name of its own, both do, and a pattern that ends in `/*` takes in everything
below. `*` alone is everything. `repository/NAME/object/PATH` is the path at every branch, tag and commit.
"""

import re

from lochan.errors import Invalid

KINDS = ("branch", "tag", "commit")  # of refs
LAKE = "lake"


def repository(name: str) -> str:
    return f"repository/{name}"


def branch(repository: str, name: str) -> str:
    return f"repository/{repository}/branch/{name}"


def tag(repository: str, name: str) -> str:
    return f"repository/{repository}/tag/{name}"


def commit(repository: str, id: str) -> str:
    return f"repository/{repository}/commit/{id}"


def object_at(ref: str, path: str) -> str:
    """Returns the resource of an object. `ref` is the resource of a branch, a tag or a commit."""
    return f"{ref}/object/{path}"


def at_any_ref(object: str) -> str:
    """Returns the same object as patterns for every ref name it. It accepts the beginning of an object or of a ref
    too."""
    parts = object.split("/", 5)
    if len(parts) < 3 or parts[0] != "repository" or parts[2] == "object":
        return object
    return f"{parts[0]}/{parts[1]}/object/{parts[5] if len(parts) == 6 else ''}"


def user(name: str) -> str:
    return f"user/{name}"


def group(name: str) -> str:
    return f"group/{name}"


def policy(name: str) -> str:
    return f"policy/{name}"


def patterns_of(repository: str, ref: str, path: str) -> tuple[str, ...]:
    """Returns patterns for a repository with all in it, for one branch of it, or for paths with this prefix, on that
    branch or at every ref."""
    front = f"repository/{repository}"
    if path:
        return (f"{front}/branch/{ref}/object/{path}*" if ref else f"{front}/object/{path}*",)
    branch = f"{front}/branch/{ref}" if ref else front
    return branch, f"{branch}/*"


def check(text: str) -> None:
    """Raises Invalid unless the text is the name of a single resource."""
    if not _RESOURCE.fullmatch(text):
        raise Invalid(f"{text!r} is not a resource", hint=_HINT)


def check_pattern(text: str) -> None:
    """Raises Invalid for a pattern that could match nothing, or something else than its writer meant."""
    if not _PATTERN.fullmatch(text):
        raise Invalid(f"{text!r} is not a pattern of resources", hint=_HINT)


def regex(pattern: str) -> str:
    """Returns a regular expression for whole resources, to be used with re.DOTALL."""
    if pattern == "*":
        return ".*"
    head, at_any_ref, path = _any_ref(pattern)
    if at_any_ref:
        return f"{wildcard_regex(head, _NAME)}/(?:{'|'.join(KINDS)})/[^/]*/object/{wildcard_regex(path)}"
    head, has_path, path = _with_path(pattern)
    if has_path:
        return f"{wildcard_regex(head, _NAME)}/object/{wildcard_regex(path)}"
    if pattern.endswith("/*"):
        return f"{wildcard_regex(pattern[:-1], _NAME)}.*"
    return wildcard_regex(pattern, _NAME)


def wildcard_regex(pattern: str, letter: str = ".") -> str:
    """Returns a regular expression in which `*` stands for any letters and `?` for one. Matching many stars takes no
    longer than matching few.

    `letter` is the expression for one letter. Each part between two stars is searched once, from the left, and the
    first match is kept (an atomic group). That is enough to find a match of the whole, so nothing is tried again."""
    first, *rest = ("".join(letter if each == "?" else re.escape(each) for each in part) for part in pattern.split("*"))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>{letter}*?{part})" for part in middle if part) + f"{letter}*{last}"


def _any_ref(pattern: str) -> tuple[str, bool, str]:
    parts = pattern.split("/", 3)
    if len(parts) == 4 and parts[0] == "repository" and parts[2] == "object":
        return f"{parts[0]}/{parts[1]}", True, parts[3]
    return pattern, False, ""


def _with_path(pattern: str) -> tuple[str, bool, str]:
    parts = pattern.split("/", 5)
    if len(parts) == 6 and parts[0] == "repository" and parts[4] == "object":
        return "/".join(parts[:4]), True, parts[5]
    return pattern, False, ""


_NAME = "[^/]"  # what a wildcard stands for, in front of a path
_REF = f"repository/[^/]+/(?:{'|'.join(KINDS)})/[^/]+"
_RESOURCE = re.compile(rf"repository/[^/]+|{_REF}|{_REF}/object/.*|(?:user|group|policy)/[^/]+|{LAKE}", re.DOTALL)
_PATTERN = re.compile(
    rf"\*|{LAKE}|(?:user|group|policy)/[^/]+"
    rf"|repository/[^/]+(?:/\*|/object/.*|/(?:{'|'.join(KINDS)})/[^/]+(?:/\*|/object/.*)?)?",
    re.DOTALL,
)
_HINT = "such as repository/NAME, repository/NAME/branch/BRANCH, repository/NAME/branch/BRANCH/object/PATH, user/NAME"
