"""Sends snapshots between nodes: a separate RPC on the server that carries the peers' streams.

It uses a separate connection, so that neither votes nor entries ever wait for snapshots.
"""

import asyncio
from contextlib import suppress
from typing import Final

from quorate.consensus.peer.network import PeerNetwork
from quorate.consensus.peer.streams import Call, Context, Serves, StreamLimits, read
from quorate.consensus.peer.wire import MalformedMessageError
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.shards.snapshots.snapshot_messages import (
    Chunk,
    Offer,
    Receive,
    ReceiverBusyError,
    SnapshotRefusedError,
    TransferError,
    decode_answer,
    decode_chunk,
    decode_offer,
    encode_answer,
    encode_chunk,
    encode_offer,
)
from quorate.v1 import snapshot_pb2

_SERVICE: Final = snapshot_pb2.DESCRIPTOR.services_by_name["SnapshotService"].full_name
_INSTALL: Final = "Install"


class NetworkSnapshots:
    """Implements `SnapshotPort` between the nodes of a `PeerNetwork`."""

    def __init__(self, network: PeerNetwork, limits: StreamLimits | None = None) -> None:
        self._network: Final = network
        self._limits: Final = limits or StreamLimits()

    async def open(self, offer: Offer) -> "NetworkTransfer":
        """Connect and send the header; raises `TransferError`."""
        node = offer.target.node
        address = self._network.address(node)
        if address is None:
            raise TransferError(f"the address of {node} is unknown")
        channel = self._network.open_channel(node, address)
        try:
            challenge = await self._network.challenge(channel, self._limits.answer_s)
        except CallError as error:
            await channel.close(None)
            why = f"the connection to {node} was lost: {error.details()}"
            raise TransferError(why) from None
        install = channel.stream_stream(f"/{_SERVICE}/{_INSTALL}", None, None)
        transfer = NetworkTransfer(node, channel, install(None))
        try:
            await transfer.send(encode_offer(offer, self._network.handshake(node, challenge)))
        except BaseException:
            transfer.cancel()
            raise
        return transfer

    def add_to(self, server: Serves, receive: Receive) -> None:
        """Receive the snapshots of other nodes."""

        async def serve(_: object, context: Context) -> None:
            refusal, busy = "", False
            try:
                await self._receive(context, receive)
            except SnapshotRefusedError as error:
                refusal, busy = str(error), isinstance(error, ReceiverBusyError)
            except MalformedMessageError as error:
                refusal = f"it cannot be read: {error}"
            await context.write(encode_answer(refusal, busy=busy))
            # If the stream ends before its sender, the answer is lost.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.answer_s):
                    while await read(context) is not None:
                        pass

        server.add_bytes(f"/{_SERVICE}/{_INSTALL}", serve, streams=True)

    async def _receive(self, context: Context, receive: Receive) -> None:
        content = await read(context)
        if content is None:
            return
        offer, handshake = decode_offer(content)
        reason = self._network.judge_caller(handshake, context)
        if reason is not None:
            raise SnapshotRefusedError(reason)
        reception = receive(offer)
        missing = sum(file.size for file in offer.manifest.files)
        try:
            while missing > 0:
                content = await read(context)
                if content is None:
                    raise SnapshotRefusedError(f"it ended {missing} bytes too early")
                chunk = decode_chunk(content)
                await reception.write(chunk)
                missing -= len(chunk.content)
            await reception.finish()
        finally:
            reception.abandon()


class NetworkTransfer:
    """Implements `Outgoing` with a stream on a separate channel."""

    def __init__(self, node: str, channel: Channel, call: Call) -> None:
        self._node: Final = node
        self._channel: Final = channel
        self._call: Final = call
        self._answer: Final = asyncio.ensure_future(self._read_answer())
        self._closing: asyncio.Task[None] | None = None

    async def write(self, chunk: Chunk) -> None:
        """Send a part as soon as there is room for it."""
        await self.send(encode_chunk(chunk))

    async def send(self, content: bytes) -> None:
        """Send a frame; raises `TransferError`."""
        if not self._answer.done():
            try:
                await self._call.write(content)
            except (asyncio.InvalidStateError, CallError):
                # The answer, or its absence, gives the reason.
                pass
            else:
                return
        await self._answer
        raise TransferError(f"{self._node} confirmed the snapshot before all of it was sent")

    async def finish(self) -> None:
        """Return once the snapshot is durably installed; raises `TransferError`."""
        await self._answer

    def cancel(self) -> None:
        """End the stream."""
        self._answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._answer.cancel()
        self._call.cancel()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._channel.close(None))

    async def _read_answer(self) -> None:
        """Return when the snapshot is installed; raises `TransferError`."""
        try:
            content = await read(self._call)
            if content is None:
                raise TransferError(f"{self._node} ended the transfer without an answer")
            refusal, busy = decode_answer(content)
        except (asyncio.InvalidStateError, CallError) as error:
            why = error.details() if isinstance(error, CallError) else "it was ended"
            raise TransferError(f"the connection to {self._node} was lost: {why}") from None
        except MalformedMessageError as error:
            raise TransferError(f"{self._node} sent {error}") from None
        if busy:
            raise ReceiverBusyError(refusal)
        if refusal:
            raise SnapshotRefusedError(f"{self._node} refused it: {refusal}")
