"""Fences with tokens that callers choose: their names share the space of keys."""

from typing import Final

from quorate.plugin import FENCE_NAMES, Extension, FenceNames

OF_CALLERS: Final = Extension(
    point=FENCE_NAMES,
    name="kv.callers",
    value=FenceNames(word="", domain="kv", key=lambda name: name),
)
