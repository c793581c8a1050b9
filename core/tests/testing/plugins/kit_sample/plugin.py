"""Notes of owners that expire: one of everything that the kit has to deal with."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from pydantic import BaseModel, ConfigDict, Field
from quorate.plugin import (
    Access,
    Cache,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    Declaration,
    Extension,
    ExtensionPoint,
    GrpcService,
    Invalid,
    Items,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Reader,
    Rejected,
    ShardRef,
    Timer,
    Txn,
    hookimpl,
    keys,
)
from quorate.v1.batch_pb2 import BatchReply

pb: Any = import_module("kit_sample.v1.notes_pb2")

NOTES = "sample.notes"
SIZES = "sample.sizes"
EXPIRY = "sample.expiry"
CONTROLLER = "sample.note_erasing"
SERVICE = "kit_sample.v1.NoteService"
OPENED: list[str] = []

_FILE = FileDescriptorProto(name="kit_sample/v1/service.proto", package="kit_sample.v1")
_FILE.service.add(name="NoteService")
_POOL = DescriptorPool()
_POOL.Add(_FILE)
#: A service without methods; tests call its servicer by hand.
_DECLARED = _POOL.FindServiceByName(SERVICE)


class SampleConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    banned: str = Field("banned", description="Whose notes are erased.")


class Texts:
    def __init__(self) -> None:
        self.by_key: dict[bytes, bytes] = {}

    def reset(self) -> None:
        self.by_key.clear()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        self.by_key[key] = row

    def delete(self, family: str, key: bytes) -> None:
        self.by_key.pop(key, None)


def note_key(owner: str) -> bytes:
    return keys.pack(owner)


def write_note(txn: Txn, command: Any) -> Message:
    key = note_key(command.owner)
    if txn.get(NOTES, key) is not None:
        raise Rejected("ALREADY_EXISTS", command.owner)
    note: Message = pb.Note(owner=command.owner, text=command.text, id=txn.next_id("sample.notes"))
    txn.put(NOTES, key, note.SerializeToString(deterministic=True))
    txn.put(SIZES, key, str(len(command.text)).encode())
    if command.ttl_ms:
        txn.schedule(EXPIRY, key, txn.proposed_at_ms + command.ttl_ms)
    return note


def write_notes(txn: Txn, command: Any) -> BatchReply:
    reply = BatchReply(items=len(command.notes))
    for position, note in enumerate(command.notes):
        try:
            reply.replies.append(write_note(txn, note).SerializeToString(deterministic=True))
        except Rejected as refusal:
            reply.refusals.add(item=position, code=refusal.code, message=refusal.message)
            reply.replies.append(b"")
    return reply


def erase_note(txn: Txn, command: Any) -> None:
    key = note_key(command.owner)
    if txn.get(NOTES, key) is None:
        raise Rejected("NOT_FOUND", command.owner)
    _erase(txn, key)
    txn.emit(command)


def expire_notes(txn: Txn, command: Any) -> BatchReply:
    for key in command.keys:
        deadline = txn.deadline(EXPIRY, key)
        if deadline is not None and deadline <= txn.proposed_at_ms:
            _erase(txn, key)
    return BatchReply(items=len(command.keys))


def _erase(txn: Txn, key: bytes) -> None:
    txn.delete(NOTES, key)
    txn.delete_range(SIZES, key, key + b"\xff")
    txn.schedule(EXPIRY, key, None)


def list_notes(reader: Reader, query: Any) -> Iterator[Message]:
    for row in reader.scan(NOTES, b"", b"\xff", limit=query.limit or 100):
        yield pb.Note.FromString(row.value)


async def erase_banned(node: NodeApi, shard: ShardRef) -> None:
    banned = node.config(SampleConfig).banned
    if note_key(banned) in node.cache(Texts).by_key:
        await node.propose(pb.EraseNote(owner=banned), Empty, if_leader=shard)


def check_note(command: Any) -> None:
    if not command.owner:
        raise Invalid("owner", "must not be empty")


class Notes:
    def __init__(self, node: NodeApi) -> None:
        self.node = node

    async def write(self, owner: str, text: str) -> Any:
        self.node.count("quorate_sample_notes_total", owner=owner)
        return await self.node.propose(pb.WriteNote(owner=owner, text=text), pb.Note)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    write = pb.WriteNote
    return [
        RaftGroup(name="sample", shards=2),
        ColumnFamily(name=NOTES, group="sample", row=pb.Note, shard_key=bytes, previous=True),
        ColumnFamily(name=SIZES, group="sample", shard_key=bytes),
        Command(
            message=write,
            group="sample",
            apply=write_note,
            examples=(write(owner="ada", text="a", ttl_ms=1), write(owner="banned", text="b")),
            shard_key=lambda command: note_key(command.owner),
            validate=check_note,
            public=True,
            access=Access(right="write", key="owner"),
        ),
        Command(
            message=pb.WriteNotes,
            group="sample",
            examples=(pb.WriteNotes(notes=[write(owner=name, text="x") for name in "zyxwvut"]),),
            items=Items(
                get=lambda command: command.notes,
                shard_key=lambda item: note_key(item.owner),
                make=lambda _, notes: pb.WriteNotes(notes=notes),
                key=lambda item: note_key(item.owner),
            ),
            apply=write_notes,
        ),
        Command(
            message=pb.EraseNote,
            group="sample",
            examples=(pb.EraseNote(owner="ada"), pb.EraseNote(owner="nobody")),
            shard_key=lambda command: note_key(command.owner),
            apply=erase_note,
        ),
        Command(
            message=pb.ExpireNotes,
            group="sample",
            examples=(pb.ExpireNotes(keys=[note_key("ada"), note_key("z")]),),
            items=Items(
                get=lambda command: command.keys,
                shard_key=bytes,
                make=lambda _, found: pb.ExpireNotes(keys=found),
            ),
            apply=expire_notes,
        ),
        Query(
            message=pb.ListNotes,
            group="sample",
            run=list_notes,
            order=lambda note: note_key(note.owner),
        ),
        Cache(name="sample.texts", group="sample", families=(NOTES,), factory=Texts),
        Timer(name=EXPIRY, group="sample", due=lambda found: pb.ExpireNotes(keys=found), batch=2),
        Controller(name=CONTROLLER, group="sample", run_once=erase_banned, interval_s=1.0),
        Metric(name="quorate_sample_notes_total", kind="counter", help="Notes.", labels=("owner",)),
        Metric(name="quorate_sample_note_bytes", kind="histogram", help="Sizes."),
        ConfigSection(model=SampleConfig),
        GrpcService(service=_DECLARED, servicer=lambda node: Notes(node)),
        ExtensionPoint(name="sample.words", type=str),
        Extension(point="sample.words", name="greeting", value="hello"),
    ]


@asynccontextmanager
async def _opened() -> AsyncIterator[None]:
    await asyncio.sleep(0)
    OPENED.append("in")
    yield
    OPENED.append("out")


@hookimpl
def quorate_lifespan(node: NodeApi) -> AbstractAsyncContextManager[None]:
    return _opened()
