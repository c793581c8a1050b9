"""Channels of gRPC to servers that are no nodes, for commands that copy from or to them."""

from __future__ import annotations

from typing import Final

from quorate.client.tls import Tls
from quorate.http2.grpc.call_errors import CallError as CallError
from quorate.http2.grpc.channel import Channel as Channel
from quorate.http2.grpc.link import ChannelLimits

_MESSAGE_BYTES: Final = 512 << 20


def channel_to(address: str, tls: Tls | None = None) -> Channel:
    """Return a channel to `host:port`, made in a running loop; raises `InvalidError`.

    `quorate.plugin.Stub` calls services on it, and a call raises `CallError`.
    """
    context = None if tls is None else tls.context()
    return Channel(address, context=context, limits=ChannelLimits(message_bytes=_MESSAGE_BYTES))
