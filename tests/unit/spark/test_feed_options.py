"""Options of streams out of a pool, as a user of Spark writes them."""

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from lochan.errors import Invalid
from lochan.pools.feed_options import FeedOptions
from lochan.spark.stream_reader import check_batch, ending, feed_options


def options(**given: str) -> CaseInsensitiveDict:
    return CaseInsensitiveDict({name.lower(): value for name, value in given.items()})


def test_what_each_option_means() -> None:
    assert feed_options(options()) == FeedOptions()
    assert feed_options(options(startingVersion="latest")) == FeedOptions("latest")
    assert feed_options(options(startingCommit="v1")) == FeedOptions("v1")
    assert feed_options(options(startingAfter="v1")) == FeedOptions(after="v1")
    assert feed_options(options(startingTimestamp="2 hours ago")) == FeedOptions(timestamp="2 hours ago")
    assert feed_options(options(readChangeFeed="TRUE", ignoreDeletes="false")) == FeedOptions(changes=True)
    assert feed_options(options(ignoreDeletes="true")) == FeedOptions(ignore_deletes=True)
    assert feed_options(options(ignoreChanges="true")) == FeedOptions(ignore_changes=True)
    assert feed_options(options(skipChangeCommits="true")) == FeedOptions(skip_change_commits=True)
    assert feed_options(options(maxCommitsPerTrigger="7", maxBytesPerTrigger="64m")) == FeedOptions(
        commits_max=7, bytes_max=64 << 20
    )
    assert ending(options(endingVersion="v2")) == ending(options(endingCommit="v2")) == "v2"
    assert ending(options()) == ""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingVersion": "latest", "startingAfter": "v1"}, "startingVersion and startingAfter both say"),
        ({"ignoreDeletes": "1"}, "ignoreDeletes='1' is neither true nor false"),
        ({"ignoreChanges": "true", "skipChangeCommits": "true"}, "ignoreChanges reads what skipChangeCommits"),
        ({"maxCommitsPerTrigger": "0"}, "maxCommitsPerTrigger='0' is no number from 1 on"),
        ({"maxCommitsPerTrigger": "7k"}, "is no number"),
        ({"maxBytesPerTrigger": "-1"}, "is no number"),
        ({"maxBytesPerTrigger": "1kb"}, "is no number"),
        ({"maxBytesPerTrigger": ""}, "is no number"),
    ],
)
def test_what_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        feed_options(options(**given))


def test_a_plain_read_takes_none_of_them() -> None:
    check_batch(options(where="k > 1", readChangeFeed="false"))
    with pytest.raises(Invalid, match="startingTimestamp is an option of streams"):
        check_batch(options(startingTimestamp="now"))
    with pytest.raises(Invalid, match="both say where to end"):
        ending(options(endingVersion="a", endingCommit="b"))
