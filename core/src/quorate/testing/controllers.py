"""The contract of a controller: it proposes and never writes, and converges."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.testing.node import MemoryNode

A = TypeVar("A", bound=Message | bytes)

#: Rounds in which a controller may change the state before it must have nothing left to propose.
ROUNDS: Final = 10


class WatchedNode(MemoryNode):
    """A node that detects changes of its shards that no proposal made."""

    written_directly = False
    _known: str | None = None

    async def propose(self, command: Message, reply: type[A], **options: Any) -> A:
        """Propose as any node does, and compare the shards before and after."""
        self.look()
        try:
            return await super().propose(command, reply, **options)
        finally:
            self._known = self.digest()

    def look(self) -> None:
        """Record whether the shards changed since the last look or proposal."""
        found = self.digest()
        if self._known not in (None, found):
            self.written_directly = True
        self._known = found


async def faults(node: WatchedNode, plugin: str) -> list[str]:
    """Return the faults of the plugin's controllers, on the present rows of the node."""
    found = []
    for controller in node.catalog.declared[plugin].controllers:
        fault = await _fault(node, controller.name)
        if fault:
            found.append(f"controller {controller.name} {fault}")
    return found


async def _fault(node: WatchedNode, name: str) -> str:
    for _ in range(ROUNDS):
        node.look()
        node.written_directly = False
        before, proposed = node.digest(), len(node.proposals)
        try:
            await node.run_controller(name)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
            return f"raised {type(error).__name__}: {error}"
        node.look()
        if node.written_directly:
            return "changed rows without a proposal; a controller changes state by proposing alone"
        new = [each.DESCRIPTOR.full_name for each in node.proposals[proposed:]]
        if not new:
            return ""
        if node.digest() == before:
            return f"proposes {', '.join(new)}, which changes nothing: it must see that first"
    return f"still proposes after {ROUNDS} runs; it must have nothing to do on a converged state"
