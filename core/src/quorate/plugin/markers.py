"""The two pluggy markers of this host; a plugin uses `hookimpl` alone."""

from typing import Final

import pluggy

#: The name under which pluggy knows the host, and the entry-point group of its plugins.
PROJECT: Final = "quorate"

hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
