"""The declarations of the plugin."""

from collections.abc import Sequence

from quorate.plugin import Declaration, hookimpl

from quorate_redis.stream import REDIS_STREAM


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [REDIS_STREAM.extension]
