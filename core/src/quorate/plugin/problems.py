"""Problems of plugins, worded so that the user can act on them."""

from collections.abc import Sequence
from typing import Final, Self


class PluginProblem(Exception):
    """One problem of one plugin: the plugin, the fault and the fix."""

    def __init__(
        self,
        plugin: str,
        distribution: str,
        version: str,
        what: str,
        fix: str,
        where: str = "",
    ) -> None:
        place = f"{where}: " if where else ""
        super().__init__(f"{plugin} ({distribution} {version}): {place}{what}; {fix}")
        self.plugin: Final = plugin
        self.distribution: Final = distribution
        self.version: Final = version
        self.what: Final = what
        self.fix: Final = fix
        #: `path:line` of the declaration; "": it is not known, or `what` begins with it.
        self.where: Final = where


class PluginErrors(ExceptionGroup[PluginProblem]):
    """Everything that is wrong with all plugins; a server does not start with one of these."""

    def __new__(cls, problems: Sequence[PluginProblem]) -> Self:
        """Make the group of these problems, of which there is at least one."""
        count = len(problems)
        return super().__new__(
            cls, f"{count} plugin problem{'s' if count > 1 else ''} found", list(problems)
        )

    def __init__(self, problems: Sequence[PluginProblem]) -> None:
        super().__init__(self.message, list(problems))

    def derive(self, excs: Sequence[PluginProblem]) -> Self:  # type: ignore[override]
        """Return the same group with other problems, as `except*` and `split` need it."""
        return type(self)(excs)
