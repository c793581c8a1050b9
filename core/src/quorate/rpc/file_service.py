"""Files of rows: from clients, and between nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from quorate.consensus.peer.wire import Handshake
from quorate.files.file_sets import FETCH_S, FileSets
from quorate.files.publications import Publications
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code
from quorate.plugin import Access, Invalid
from quorate.plugin.access import OPERATIONS, Authority, denied, needed
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import domain_of, needs_of_core
from quorate.plugin.shard_id import ShardId
from quorate.rpc import callers, deadline
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.rpc.forward_serving import parsed_shard
from quorate.rpc.methods import Context
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import ExhaustedError
from quorate.v1 import files_pb2 as pb

SERVICE: Final = pb.DESCRIPTOR.services_by_name["FileService"]
PEERS: Final = pb.DESCRIPTOR.services_by_name["FilePeerService"]
#: Rows of files are not checked one by one: only operators load files.
ACCESS: Final = dict.fromkeys(SERVICE.methods_by_name, Access(right="write"))
#: Maximum number of bytes in a name, and in a part of a file.
LONGEST_NAME: Final = 256
LARGEST_PART: Final = 4 << 20
_READ_S: Final = 10.0
_ANSWER_S: Final = 2.0


@dataclass(eq=False)
class FileService:
    """Takes files of rows for the shards of this node."""

    _files: FileSets
    _publications: Publications
    _catalog: Catalog
    _authority: Authority

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, OPERATIONS))

    async def Open(self, request: pb.OpenFilesRequest, context: Context) -> pb.OpenFilesResponse:
        """Open a file set on the leader."""
        _check_name("name", request.name)
        shard = self._shard(request)
        self._check_command(request.command)
        asked = pb.OpenFileSet(name=request.name, command=request.command)
        return await self._files.open(shard, asked, deadline.within_s(FETCH_S))

    async def Send(self, request: pb.SendFileRequest, context: Context) -> pb.SendFileResponse:
        """Write a part of a file."""
        _check_name("name", request.name)
        file = request.file
        if len(request.content) > LARGEST_PART:
            raise Invalid("content", f"must have at most {LARGEST_PART} bytes")
        if not file.size or not file.rows:
            raise Invalid("file", "needs a size and rows")
        try:
            received = await self._files.receive(
                self._shard(request), request.name, file, request.offset, request.content
            )
        except ExhaustedError as error:
            return pb.SendFileResponse(received=request.offset, full=str(error))
        return pb.SendFileResponse(received=received)

    async def Ingest(
        self, request: pb.IngestFilesRequest, context: Context
    ) -> pb.IngestFilesResponse:
        """Put the files of a set in place."""
        _check_name("ingest.name", request.ingest.name)
        shard = self._shard(request)
        self._demand(self._files.command_of(shard, request.ingest.name))
        act = self._files.check if request.check_only else self._files.ingest
        found = await act(shard, request.ingest, deadline.within_s(FETCH_S))
        return pb.IngestFilesResponse(set=found)

    async def Publish(
        self, request: pb.PublishFilesRequest, context: Context
    ) -> pb.PublishFilesResponse:
        """Put the staged files of all shards of a group in place in one step."""
        _check_name("name", request.name)
        self._check_group(request.group)
        self._check_command(request.command)
        found = await self._publications.publish(request, deadline.within_s(FETCH_S))
        return pb.PublishFilesResponse(publication=found)

    async def Drop(self, request: pb.DropFilesRequest, context: Context) -> pb.DropFilesResponse:
        """End a file set, or forget it."""
        _check_name("drop.name", request.drop.name)
        shard, asked = self._shard(request), request.drop
        await self._publications.end(shard.group, asked.name, forget=asked.forget)
        await self._files.drop(shard, asked, deadline.within_s(FETCH_S))
        return pb.DropFilesResponse()

    def _check_command(self, command: str) -> None:
        if command not in self._catalog.commands:
            raise Invalid("command", f"{command!r} is no command of this cluster")
        self._demand(command)

    def _demand(self, command: str) -> None:
        """Refuse a caller without write access to the whole domain of the command."""
        caller, domain = callers.caller(), domain_of(self._catalog, command)
        if caller.node or self._authority.enabled is False:
            return
        if not self._authority.rights(caller.name).covers(domain, "write"):
            raise denied(caller.name, needed("write", domain))

    def _shard(
        self,
        request: pb.OpenFilesRequest
        | pb.SendFileRequest
        | pb.IngestFilesRequest
        | pb.DropFilesRequest,
    ) -> ShardId:
        self._check_group(request.group)
        return ShardId(request.group, request.shard)

    def _check_group(self, group: str) -> None:
        if group not in self._catalog.groups:
            raise Invalid("group", f"{group!r} is not a group of this cluster")


@dataclass(eq=False)
class FilePeerService:
    """Gives files to the other nodes of the cluster, and gets theirs."""

    _files: FileSets
    _durable_index: Callable[[ShardId], int]
    #: Lets a node of this cluster in, and ends the call of anyone else.
    _admit: Callable[[Context], Awaitable[Handshake]]

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(PEERS, self)

    async def Fetch(self, request: pb.FetchFilesRequest, context: Context) -> pb.FetchFilesResponse:
        """Get files from the asking node."""
        await self._admit(context)
        shard = parsed_shard(request.shard)
        lacking = await self._files.fetch(shard, request.name, request.files, request.node)
        return pb.FetchFilesResponse(lacking=lacking)

    async def Read(self, request: pb.ReadFileRequest, context: Context) -> pb.ReadFileResponse:
        """Give a part of a file."""
        await self._admit(context)
        file = pb.SortedFile(family=request.family, digest=request.digest)
        content = self._files.read(parsed_shard(request.shard), request.name, file, request.offset)
        return pb.ReadFileResponse(found=content is not None, content=content or b"")

    async def Applied(self, request: pb.AppliedRequest, context: Context) -> pb.AppliedResponse:
        """Return the durably applied index of the replica here."""
        await self._admit(context)
        return pb.AppliedResponse(durable_index=self._durable_index(parsed_shard(request.shard)))


@dataclass(eq=False)
class NodeFilePeers:
    """Implements `FilePeers` over the channels to the nodes."""

    _node: str
    _channels: NodeChannels

    async def fetch(
        self, node: str, shard: ShardId, name: str, files: Sequence[pb.SortedFile], timeout_s: float
    ) -> str | None:
        """Let a node get the files that it lacks from this one."""
        request = pb.FetchFilesRequest(shard=str(shard), name=name, files=files, node=self._node)
        try:
            route = await self._channels.route(node, timeout_s)
            answer: pb.FetchFilesResponse = await Stub(route.channel, PEERS).Fetch(
                request, timeout=timeout_s, metadata=route.metadata
            )
        except UnreachableError:
            return None
        except CallError as error:
            gone = Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED
            return None if error.code() in gone else str(error.details())
        return answer.lacking

    async def read(
        self, node: str, shard: ShardId, name: str, file: pb.SortedFile, offset: int
    ) -> bytes | None:
        """Return a part of a file of a node."""
        request = pb.ReadFileRequest(
            shard=str(shard), name=name, family=file.family, digest=file.digest, offset=offset
        )
        try:
            route = await self._channels.route(node, _READ_S)
            answer: pb.ReadFileResponse = await Stub(route.channel, PEERS).Read(
                request, timeout=_READ_S, metadata=route.metadata
            )
        except (UnreachableError, CallError):
            return None
        return answer.content if answer.found else None

    async def durable_index(self, node: str, shard: ShardId) -> int | None:
        """Return how far the replica of a node has come, durably."""
        try:
            route = await self._channels.route(node, _ANSWER_S)
            answer: pb.AppliedResponse = await Stub(route.channel, PEERS).Applied(
                pb.AppliedRequest(shard=str(shard)), timeout=_ANSWER_S, metadata=route.metadata
            )
        except (UnreachableError, CallError):
            return None
        return answer.durable_index


def _check_name(field: str, name: str) -> None:
    if not 0 < len(name.encode()) <= LONGEST_NAME:
        raise Invalid(field, f"must have 1 to {LONGEST_NAME} bytes")
