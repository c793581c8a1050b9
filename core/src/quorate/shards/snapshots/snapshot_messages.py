"""The messages of a snapshot transfer, and its port to other nodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from google.protobuf.message import DecodeError

from quorate.consensus.messages import Peer
from quorate.consensus.peer.wire import (
    Handshake,
    MalformedMessageError,
    handshake_proto,
    read_handshake,
)
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.checkpoint import Manifest, SnapshotFile
from quorate.storage.data.record import AppliedRecord
from quorate.v1 import snapshot_pb2

#: A part of one file, by its place in the manifest; parts come in order.
Chunk = snapshot_pb2.SnapshotChunk

#: Maximum number of files of a snapshot.
MOST_FILES: Final = 100_000


class TransferError(Exception):
    """A snapshot did not arrive; its receiver keeps its data."""


class SnapshotRefusedError(TransferError):
    """The receiver refuses this snapshot; the text gives the reason."""


class ReceiverBusyError(SnapshotRefusedError):
    """The receiver is busy with another snapshot: offer this one again later."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A snapshot that a replica offers to another."""

    shard: ShardId
    source: Peer
    target: Peer
    #: The index of the configuration that the sender acts under.
    config_index: int
    manifest: Manifest
    #: The history of the shard that it is of.
    epoch: int = 0


class Outgoing(Protocol):
    """A transfer on its sender."""

    async def write(self, chunk: Chunk) -> None:
        """Send a part as soon as there is room for it.

        Raises `TransferError`, at once when the receiver has ended the transfer.
        """

    async def finish(self) -> None:
        """Return once the snapshot is durably installed; raises `TransferError`."""

    def cancel(self) -> None:
        """End the transfer; may be called again."""


class SnapshotPort(Protocol):
    """The port to the other nodes."""

    async def open(self, offer: Offer) -> Outgoing:
        """Begin a transfer; raises `TransferError`."""


class Reception(Protocol):
    """A transfer on its receiver; its transport calls `abandon` at the end."""

    async def write(self, chunk: Chunk) -> None:
        """Write the next part; raises `SnapshotRefusedError`."""

    async def finish(self) -> None:
        """Verify and install the received snapshot; raises `SnapshotRefusedError`."""

    def abandon(self) -> None:
        """Discard the received parts, unless they were installed; may be called again."""


#: Begins a reception; raises `SnapshotRefusedError`.
Receive = Callable[[Offer], Reception]


def encode_offer(offer: Offer, handshake: Handshake) -> bytes:
    """Return the first frame of a transfer."""
    manifest = offer.manifest
    header = snapshot_pb2.SnapshotHeader(
        handshake=handshake_proto(replace(handshake, peer=offer.source)),
        shard=str(offer.shard),
        target_replica=offer.target.replica,
        config_index=offer.config_index,
        epoch=offer.epoch,
        manifest=snapshot_pb2.SnapshotManifest(
            record=manifest.record.encode(),
            files=[
                snapshot_pb2.SnapshotFile(name=name, size=size, checksum=checksum)
                for name, size, checksum in manifest.files
            ],
        ),
    )
    encoded: Final = snapshot_pb2.SnapshotFrame(header=header).SerializeToString()
    return encoded


def decode_offer(content: bytes) -> tuple[Offer, Handshake]:
    """Read the first frame of a transfer; raises `MalformedMessageError`."""
    frame = _frame(content)
    if not frame.HasField("header"):
        raise MalformedMessageError("a snapshot that begins without a header", "nothing is read")
    header = frame.header
    handshake = read_handshake(header.handshake)
    if len(header.manifest.files) > MOST_FILES:
        raise MalformedMessageError("a snapshot of too many files", str(len(header.manifest.files)))
    try:
        shard = ShardId.parse(header.shard)
        record = AppliedRecord.decode(header.manifest.record)
    except ValueError as error:
        raise MalformedMessageError("a snapshot of nothing", str(error)) from None
    files = (SnapshotFile(each.name, each.size, each.checksum) for each in header.manifest.files)
    offer = Offer(
        shard,
        handshake.peer,
        Peer(handshake.target, header.target_replica),
        header.config_index,
        Manifest(record, tuple(files)),
        header.epoch,
    )
    return offer, handshake


def encode_chunk(chunk: Chunk) -> bytes:
    """Return a later frame of a transfer."""
    encoded: Final = snapshot_pb2.SnapshotFrame(chunk=chunk).SerializeToString()
    return encoded


def decode_chunk(content: bytes) -> Chunk:
    """Read a later frame of a transfer; raises `MalformedMessageError`."""
    frame = _frame(content)
    if not frame.HasField("chunk"):
        raise MalformedMessageError("a part of a snapshot that is none", f"{len(content)} bytes")
    return frame.chunk


def encode_answer(refusal: str, *, busy: bool = False) -> bytes:
    """Return the answer to a transfer; without a refusal, the snapshot is installed."""
    encoded: Final = snapshot_pb2.SnapshotAnswer(refusal=refusal, busy=busy).SerializeToString()
    return encoded


def decode_answer(content: bytes) -> tuple[str, bool]:
    """Return why a snapshot was refused, or "", and whether the receiver is merely busy.

    Raises `MalformedMessageError`.
    """
    try:
        answer = snapshot_pb2.SnapshotAnswer.FromString(content)
        return answer.refusal, answer.busy
    except DecodeError as error:
        raise MalformedMessageError("an answer that cannot be read", str(error)) from None


def _frame(content: bytes) -> snapshot_pb2.SnapshotFrame:
    try:
        return snapshot_pb2.SnapshotFrame.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("a frame that cannot be read", str(error)) from None
