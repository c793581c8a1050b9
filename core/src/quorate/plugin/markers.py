"""The two pluggy markers of this host; a plugin uses `hookimpl` alone."""

from typing import Final

import pluggy

#: The name under which pluggy knows the host, and the entry-point group of its plugins.
PROJECT: Final = "quorate"

hookspec: Final = pluggy.HookspecMarker(PROJECT)
#: Marks a function of `plugin.py` as a hook: the decorator of every hook that a plugin writes.
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
