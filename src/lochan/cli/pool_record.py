"""A pool's settings as the command line shows them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.formats.pool_settings import PoolSettings


def settings_record(settings: "PoolSettings") -> dict[str, Any]:
    from lochan.formats.pool_settings import path_text

    return {
        "keys": [str(key) for key in settings.keys],
        "nulls": "first" if settings.nulls_first else "last",
        "size": settings.size_bytes,
        "times": [path_text(path) for path in settings.times],
        "primary_key": [path_text(path) for path in settings.primary_key],
    }
