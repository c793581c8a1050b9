"""Fences with tokens that callers choose: their names share the space of keys."""

from typing import Final

from quorate.plugin import Extension
from quorate.plugin.advanced import FENCE_NAMES, FenceNames

OF_CALLERS: Final = Extension(
    point=FENCE_NAMES,
    name="kv.callers",
    value=FenceNames(word="", domain="kv", key=lambda name: name),
)
