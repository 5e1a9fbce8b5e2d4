"""What a key was shown at a path, kept with the numbers of the last records of two journals: the lake's, which says who
may what and which repository a bucket is, and the repository's, which says what is there. As long as neither has gone
on, all of that is as it was, and is not asked again.
"""

from typing import NamedTuple

from lochan.access.state import AccessKey
from lochan.server.gateway.fastpath.known import Seen
from lochan.versioning.open_repository import OpenRepository

_ANSWERS_MAX = 10_000  # 3 MB, and the headers that `known.py` may have forgotten: some 25


class Answer(NamedTuple):
    key: AccessKey
    repository: OpenRepository
    bucket: str
    ref: str
    inside: str
    seen: Seen
    numbers: tuple[int, int]  # of the lake's last record, and the repository's


class Answers:
    def __init__(self) -> None:
        self._answers: dict[tuple[str, str], Answer] = {}  # by the access key's id and the path

    def find(self, key: AccessKey, path: str) -> Answer | None:
        """The last one, whether or not it still holds."""
        found = self._answers.get((key.id, path))
        return found if found is not None and found.key is key else None

    def keep(self, path: str, answer: Answer) -> None:
        if len(self._answers) >= _ANSWERS_MAX:
            self._answers.clear()
        self._answers[answer.key.id, path] = answer
