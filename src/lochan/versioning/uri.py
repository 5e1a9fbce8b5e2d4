"""How everybody names things: `repo@ref/path`.

demo                    the default branch of demo
demo@main~1             any ref expression
demo@main/data/a.csv    a path there; it begins behind the first slash after the ref, and is kept as it is
demo@main+17-9f3a6c21   a workspace of main: where a branch or a ref may be read, and where objects are written

URIs of other tools mean the same: `lakefs://demo/main/data/a.csv`, `lakefs://demo@main/data/a.csv`, `lochan://…`.
"""

from typing import NamedTuple

from lochan.errors import Invalid
from lochan.versioning.expression import parse as parse_ref
from lochan.versioning.names import check_known_name

SCHEMES = ("lakefs", "lochan")
HINT = "write it as repository@ref/path, such as demo@main/data/a.csv"


class Uri(NamedTuple):
    repository: str
    ref: str  # empty: the default branch
    path: str

    def __str__(self) -> str:
        ref = f"@{self.ref}" if self.ref else ""
        return f"{self.repository}{ref}/{self.path}" if self.path else f"{self.repository}{ref}"


def prefix_uri(text: str) -> Uri:
    """With or without a path. Raises Invalid."""
    where, _, path = _plain(text).partition("/")
    repository, at, ref = where.partition("@")
    if not repository or (at and not ref):
        missing = "the repository" if not repository else "the ref behind the @"
        raise Invalid(f"{text!r}: {missing} is missing", hint=HINT)
    check_known_name(repository)
    if ref:
        parse_ref(ref)
    return Uri(repository, ref, path)


def _plain(text: str) -> str:
    """Without a scheme, behind which the ref may follow the repository's slash."""
    scheme, found, rest = text.partition("://")
    if not found or scheme not in SCHEMES:
        return text
    repository, slash, behind = rest.partition("/")
    return rest if "@" in repository or not slash or not behind else f"{repository}@{behind}"


def writable(uri: Uri) -> Uri:
    """A place for objects: a branch, or a workspace. Raises Invalid."""
    return uri if uri.ref and parse_ref(uri.ref).workspace else on_branch(uri)


def on_branch(uri: Uri) -> Uri:
    """Raises Invalid if the ref is more than a name. Whether there is such a branch is not known here."""
    if uri.ref and parse_ref(uri.ref).name != uri.ref:
        raise Invalid(f"{uri.ref!r} is no branch, and only branches can be changed", hint="such as demo@main")
    return uri
