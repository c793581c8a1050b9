"""Whether a fence may be raised: a right on its name, and a token that was given out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quorate.apply.outcomes import FENCED
from quorate.plugin import Caller, Fence, NodeApi
from quorate.plugin.access import Place
from quorate.plugin.advanced import FENCE_NAMES, FenceNames
from quorate.plugin.catalog import Catalog
from quorate.plugin.fences import prefix_of
from quorate.plugin.keys import shown
from quorate.shards.refusals import NotAdmittedError

#: Number of tokens of which a node remembers that they were given out.
_REMEMBERED: Final = 10_000


class FenceChecks:
    """Asks the plugin that gives out the tokens of a name, once for each token.

    A fence of a node itself is believed, and so is any until all nodes can answer: `on` says
    whether they can.
    """

    def __init__(self, catalog: Catalog, on: Callable[[], bool]) -> None:
        self._on: Final = on
        found = catalog.extensions.get(FENCE_NAMES, {}).values()
        #: The longest words first: no word at all stands for every other name.
        self._kinds: Final = sorted(
            ((prefix_of(each), each) for each in found if isinstance(each, FenceNames)),
            key=lambda kind: -len(kind[0]),
        )
        #: Those that were given out; the oldest is forgotten first.
        self._given: Final[dict[Fence, None]] = {}

    def needed(self, fence: Fence) -> tuple[str, Place] | None:
        """Return the domain and the place in it that `write` is needed on; None: nowhere."""
        kind = self._kind(fence)
        return None if kind is None else (kind.domain, ("", kind.key(fence.name)))

    def pending(self, fence: Fence | None, caller: Caller) -> bool:
        """Whether `demand` has to be awaited."""
        if fence is None or caller.node or fence in self._given:
            return False
        kind = self._kind(fence)
        return kind is not None and kind.given is not None and self._on()

    async def demand(self, node: NodeApi, fence: Fence) -> None:
        """Refuse a token that was not given out; raises `NotAdmittedError`, or a failed read's."""
        kind = self._kind(fence)
        if kind is None or kind.given is None:
            return
        if not await kind.given(node, fence):
            raise NotAdmittedError(
                FENCED,
                f"token {fence.token} of {shown(fence.name)} was not given out: the lock or lease"
                " has ended, or it never had this token",
            )
        self._given[fence] = None
        if len(self._given) > _REMEMBERED:
            del self._given[next(iter(self._given))]

    def _kind(self, fence: Fence) -> FenceNames | None:
        return next((kind for word, kind in self._kinds if fence.name.startswith(word)), None)
