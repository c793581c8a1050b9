"""The node for controllers: fences their commands to the term of the run."""

from typing import Any, Final, TypeVar, cast

from google.protobuf.message import Message

from quorate.plugin import NodeApi, SessionRef, ShardRef

R = TypeVar("R", bound=Message)


class FencedNode:
    """A `NodeApi` that fences commands without `if_leader` to the run."""

    def __init__(self, node: NodeApi, fence: ShardRef) -> None:
        self._node: Final = node
        self._fence: Final = fence
        #: The observed metrics with their labels.
        self.observed: Final[set[tuple[str, frozenset[tuple[str, str]]]]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    @property
    def api(self) -> NodeApi:
        """The `NodeApi` of a controller; the rest is the node's own."""
        return cast(NodeApi, self)

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""
        self._node.observe(metric, value, **labels)
        self.observed.add((metric, frozenset(labels.items())))

    async def propose(
        self,
        command: Message,
        reply: type[R],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
    ) -> R:
        """Propose a command, which is refused in another term."""
        fence = if_leader or self._fence
        return await self._node.propose(command, reply, session=session, if_leader=fence)
