"""Streams the records of the node's audit log, and looks up the writer of a row."""

from collections.abc import AsyncIterator, Collection
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from quorate.observe.audit import AuditLog, LaggingError, line
from quorate.plugin import Access, Invalid, Rejected
from quorate.plugin.access import OPERATIONS
from quorate.plugin.needs import needs_of_core
from quorate.rpc import deadline
from quorate.rpc.server import RpcServer
from quorate.shards.routing.query_router import QueryRouter
from quorate.v1 import audit_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["AuditService"]
ACCESS: Final = {"Follow": Access(right="admin"), "Writer": Access(right="admin")}


@dataclass(eq=False)
class AuditService:
    """Refuses followers where nothing is recorded."""

    _log: AuditLog | None
    #: The known domains.
    _domains: Collection[str]
    _reads: QueryRouter

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, OPERATIONS))

    async def Follow(
        self, request: pb.FollowAudit, context: object
    ) -> AsyncIterator[pb.AuditRecords]:
        """Send the records of these domains, or of all."""
        if self._log is None:
            raise Rejected("FAILED_PRECONDITION", "this node records nothing; set audit.file")
        for position, domain in enumerate(request.domains):
            if domain not in self._domains:
                known = ", ".join(sorted(self._domains))
                raise Invalid(f"domains[{position}]", f"no such domain; use one of {known}")
        domains = frozenset(request.domains)
        with closing(self._log.follow()) as follower:
            # So that the caller knows from when on it sees everything.
            yield pb.AuditRecords()
            try:
                while found := await follower.next():
                    wanted = [
                        line(each) for each in found if not domains or each["domain"] in domains
                    ]
                    if wanted:
                        yield pb.AuditRecords(records=wanted)
            except LaggingError:
                raise Rejected(
                    "RESOURCE_EXHAUSTED",
                    "this caller did not keep up; read the missing records in the node's audit log",
                ) from None
        raise Rejected("UNAVAILABLE", "the node stops")

    async def Writer(self, request: pb.FindWriter, context: object) -> pb.RowWriter:
        """Return the last writer of a row."""
        try:
            found = await self._reads.read(request, pb.RowWriter, timeout_s=deadline.remaining_s())
        except LookupError as error:
            raise Invalid("family", str(error)) from None
        if not found.rows:
            raise Rejected("NOT_FOUND", f"{request.family} has no such row")
        return found.rows[0]
