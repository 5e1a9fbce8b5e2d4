"""How the command line names things: `repo@ref/path`.

demo                    the default branch of demo
demo@main~1             any ref expression
demo@main/data/a.csv    a path there; it begins behind the first slash after the ref, and is kept as it is
demo@main+17-9f3a6c21   a workspace of main: where a branch or a ref may be read, and where objects are written
"""

from collections.abc import Callable
from typing import NamedTuple

from lochan.errors import Invalid
from lochan.versioning.expression import parse as parse_ref
from lochan.versioning.names import check_repository_name


class Uri(NamedTuple):
    repository: str
    ref: str  # empty: the default branch
    path: str

    def __str__(self) -> str:
        ref = f"@{self.ref}" if self.ref else ""
        return f"{self.repository}{ref}/{self.path}" if self.path else f"{self.repository}{ref}"


def given(parse: Callable[[str], Uri], text: str | None) -> Uri | None:
    """What may be left out where a pool is in use."""
    return None if text is None else parse(text)


def prefix_uri(text: str) -> Uri:
    """With or without a path. Raises Invalid."""
    where, _, path = text.partition("/")
    repository, at, ref = where.partition("@")
    if not repository or (at and not ref):
        missing = "the repository" if not repository else "the ref behind the @"
        raise Invalid(f"{text!r}: {missing} is missing", hint=_HINT)
    check_repository_name(repository, dotted=True)
    if ref:
        parse_ref(ref)
    return Uri(repository, ref, path)


def object_uri(text: str) -> Uri:
    uri = prefix_uri(text)
    if not uri.path:
        raise Invalid(f"{text!r} names no object: the path is missing", hint=_HINT)
    return uri


def ref_uri(text: str) -> Uri:
    """Without a path."""
    uri = prefix_uri(text)
    if "/" in text:
        raise Invalid(f"{text!r}: no path is wanted here", hint="give a repository and a ref, such as demo@main")
    return uri


def branch_uri(text: str) -> Uri:
    """A place to be changed, and so a branch itself, not something behind it; without a path."""
    return on_branch(ref_uri(text))


def named_uri(text: str) -> Uri:
    """A branch or a tag that is to be made or deleted: it must be said which."""
    uri = branch_uri(text)
    if not uri.ref:
        raise Invalid(f"{text!r}: the name behind the @ is missing", hint="such as demo@dev")
    return uri


def repository_uri(text: str) -> Uri:
    """The repository alone."""
    uri = ref_uri(text)
    if uri.ref:
        raise Invalid(f"{text!r}: only a repository is wanted here", hint=f"give {uri.repository}")
    return uri


def writable(uri: Uri) -> Uri:
    """A place for objects: a branch, or a workspace. Raises Invalid."""
    return uri if uri.ref and parse_ref(uri.ref).workspace else on_branch(uri)


def staged_uri(text: str) -> Uri:
    """What may hold changes that are not committed: a branch, or a workspace; without a path."""
    return writable(ref_uri(text))


def on_branch(uri: Uri) -> Uri:
    """Raises Invalid if the ref is more than a name. Whether there is such a branch is not known here."""
    if uri.ref and parse_ref(uri.ref).name != uri.ref:
        raise Invalid(f"{uri.ref!r} is no branch, and only branches can be changed", hint="such as demo@main")
    return uri


_HINT = "write it as repository@ref/path, such as demo@main/data/a.csv"
