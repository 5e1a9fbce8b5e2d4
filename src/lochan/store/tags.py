"""Object tags, where a store has them: S3 and Azure do; local disk, memory and Google Cloud Storage go without."""

from collections.abc import Mapping

from lochan.store.protocol import Store, Tagging


def tagged(store: Store, tags: Mapping[str, str]) -> Store:
    """The same store, whose `put` and `put_stream` mark the objects with these tags, if it can."""
    return store.tagged(tags) if isinstance(store, Tagging) else store
