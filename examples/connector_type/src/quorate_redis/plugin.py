"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence

from quorate.plugin import Extension, ExtensionPoint, hookimpl

from quorate_redis.stream import REDIS_STREAM


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [REDIS_STREAM.extension]
