"""Whether a caller may send a command: asked where it enters, and again on the leader."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.message import Message

from quorate.plugin import Caller, Command, Fence, Rejected
from quorate.plugin.access import OPERATIONS, Authority, Rights, denied, needed, unknown_caller
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import UNDECLARED, domain_of
from quorate.shards.refusals import NotProposedError
from quorate.shards.routing.fence_checks import FenceChecks
from quorate.v1.batch_pb2 import ItemRefusal


class CommandAccess:
    """Checks public commands against the rights of their senders.

    Internal ones come from nodes alone, and the method that proposes them was asked for.
    """

    def __init__(self, catalog: Catalog, authority: Authority, fences: FenceChecks) -> None:
        self._authority: Final = authority
        self._fences: Final = fences
        self._domains: Final = {
            name: domain_of(catalog, name) for name, each in catalog.commands.items() if each.public
        }
        self._commands: Final = catalog.commands
        #: The domains of what may be written in a group.
        self._writers: Final = {
            group: {
                domain
                for name, domain in self._domains.items()
                if catalog.commands[name].group == group
            }
            for group in catalog.groups
        }

    def refused(
        self, message: Message, caller: Caller, fence: Fence | None = None
    ) -> tuple[ItemRefusal, ...]:
        """Return the items of a command that its caller may not send.

        Raises `Rejected` (UNAUTHENTICATED, or PERMISSION_DENIED when nothing is left, or for the
        name of its fence).
        """
        if caller.node or self._authority.enabled is False:
            return ()
        name = message.DESCRIPTOR.full_name
        domain = self._domains.get(name)
        if domain is None:
            return ()
        if self._authority.enabled is None:
            raise NotProposedError("this node does not know yet what callers may do: retry")
        if not caller.name:
            raise unknown_caller()
        command, rights = self._commands[name], self._authority.rights(caller.name)
        if fence is not None and (need := self._fences.needed(fence)) is not None:
            fenced_domain, place = need
            if not rights.reaches(fenced_domain, "write", place):
                raise denied(caller.name, needed("write", fenced_domain, place))
        access = command.access or UNDECLARED
        if rights.covers(domain, access.right):
            return ()
        if command.access is None or command.items is None:
            if lacking := rights.lacks(access, domain, message):
                raise denied(caller.name, lacking)
            return ()
        return _refused_items(rights, command, domain, message)

    def demand_writer(self, group: str, caller: Caller) -> None:
        """Refuse a caller who may write nothing in a group; raises as `refused` does."""
        if caller.node or self._authority.enabled is False:
            return
        if self._authority.enabled is None:
            raise NotProposedError("this node does not know yet what callers may do: retry")
        if not caller.name:
            raise unknown_caller()
        rights = self._authority.rights(caller.name)
        if not any(rights.some(domain, "write") for domain in self._writers[group]):
            some = ", or on ".join(sorted(self._writers[group]) or (OPERATIONS,))
            raise denied(caller.name, f"write on {some}")

    def owner(self, caller: Caller) -> str:
        """Return the owner whose sessions a caller may end; "": any owner."""
        if caller.node:
            return ""
        administers = self._authority.rights(caller.name).covers(OPERATIONS, "admin")
        return "" if administers and self._authority.enabled else caller.name

    def demand(self, message: Message, caller: Caller, fence: Fence | None = None) -> None:
        """Refuse a forwarded command of which its caller may not send every item."""
        if items := self.refused(message, caller, fence):
            raise Rejected("PERMISSION_DENIED", items[0].message)


def _refused_items(
    rights: Rights, command: Command[Any], domain: str, message: Message
) -> tuple[ItemRefusal, ...]:
    assert command.access is not None
    assert command.items is not None
    items = command.items.get(message)
    lacking = [rights.lacks(command.access, domain, item) for item in items]
    if all(lacking):
        raise denied(rights.name, lacking[0] if lacking else needed(command.access.right, domain))
    return tuple(
        ItemRefusal(item=item, code="PERMISSION_DENIED", message=denied(rights.name, each).message)
        for item, each in enumerate(lacking)
        if each
    )
