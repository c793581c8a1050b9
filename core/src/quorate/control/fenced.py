"""The node as a controller sees it: all that it proposes carries the term of its run."""

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Final, TypeVar

from google.protobuf.message import Message
from pydantic import BaseModel

from quorate.plugin import (
    Answers,
    CacheView,
    Consistency,
    NodeApi,
    SessionRef,
    ShardAnswers,
    ShardRef,
    WatchedEvent,
)

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)
CacheT = TypeVar("CacheT", bound=CacheView)


class FencedNode:
    """Implements `quorate.plugin.NodeApi`; a command without `if_leader` is fenced to the run."""

    def __init__(self, node: NodeApi, fence: ShardRef) -> None:
        self._node: Final = node
        self._fence: Final = fence
        #: The metrics that were observed, each with its labels.
        self.observed: Final[set[tuple[str, frozenset[tuple[str, str]]]]] = set()

    def config(self, model: type[ModelT]) -> ModelT:
        """Return this plugin's section of the configuration file."""
        return self._node.config(model)

    def cache(self, kind: type[CacheT]) -> CacheT:
        """Return the cache of that type."""
        return self._node.cache(kind)

    def extensions(self, point: str, kind: type[T]) -> Mapping[str, T]:
        """Return what plugins give to an extension point."""
        return self._node.extensions(point, kind)

    def count(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Add to a declared counter."""
        self._node.count(metric, value, **labels)

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""
        self._node.observe(metric, value, **labels)
        self.observed.add((metric, frozenset(labels.items())))

    def logical_ms(self, shard: ShardRef) -> int:
        """Return the logical time that a command would get which is proposed now."""
        return self._node.logical_ms(shard)

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

    def query(
        self,
        message: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[R]:
        """Run a declared query where its rows are."""
        return self._node.query(message, row, consistency=consistency, min_revision=min_revision)

    async def read(
        self,
        message: Message,
        row: type[A],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> Answers[A]:
        """Run a declared query, and return its answers with their age."""
        return await self._node.read(
            message, row, consistency=consistency, min_revision=min_revision
        )

    def read_shards(
        self,
        message: Message,
        row: type[R],
        *,
        shards: Collection[int] | None = None,
        consistency: Consistency = "linearizable",
    ) -> AsyncIterator[ShardAnswers[R]]:
        """Run a declared query, and yield the answers of each shard as soon as they are there."""
        return self._node.read_shards(message, row, shards=shards, consistency=consistency)

    def watch(
        self, family: str, *, prefix: bytes = b"", token: bytes = b""
    ) -> AsyncIterator[WatchedEvent]:
        """Yield the changes of a family's rows under a key prefix."""
        return self._node.watch(family, prefix=prefix, token=token)
