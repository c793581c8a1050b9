"""The node as a controller sees it: all that it proposes carries the term of its run."""

from typing import Any, Final, TypeVar, cast

from google.protobuf.message import Message

from quorate.plugin import NodeApi, SessionRef, ShardRef

R = TypeVar("R", bound=Message)


class FencedNode:
    """A `NodeApi` of which a command without `if_leader` is fenced to the run."""

    def __init__(self, node: NodeApi, fence: ShardRef) -> None:
        self._node: Final = node
        self._fence: Final = fence
        #: The metrics that were observed, each with its labels.
        self.observed: Final[set[tuple[str, frozenset[tuple[str, str]]]]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    @property
    def api(self) -> NodeApi:
        """This node, as a controller is given it; what is not here is the node's own."""
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
        """Propose a command that is refused in any other term."""
        fence = if_leader or self._fence
        return await self._node.propose(command, reply, session=session, if_leader=fence)
