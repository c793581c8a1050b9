"""Limits, TLS and gRPC options of the connections between nodes."""

import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from quorate.consensus.messages import Lane
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.client_call import StreamCall
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.context import CallContext
from quorate.http2.grpc.link import ChannelLimits
from quorate.observe.frames import drop_frames
from quorate.v1 import peer_pb2

SERVICE: Final = peer_pb2.DESCRIPTOR.services_by_name["PeerService"].full_name
INTRODUCE: Final = "Introduce"
CHALLENGE: Final = "Challenge"

#: A message's length has four bytes.
_ANY_SIZE: Final = 1 << 32
#: Bytes that a frame may hold in addition to one entry of the largest size.
_FRAME_SLACK: Final = 1 << 20

FOREIGN_CERTIFICATE: Final = (
    "the authority of its certificate is not in tls.ca_file here; sign it there by one that is, or"
    " add its own here"
)
OTHER_NAME: Final = (
    "its certificate is for another name; it needs its [node] name as a DNS name there"
)
CLIENT_CERTIFICATE: Final = (
    "its certificate was issued for a client; that of a node may serve (extended key usage"
    " serverAuth), and its authority is in tls.ca_file"
)
_SELF_SIGNED: Final = "its certificate is self-signed; let an authority sign it there"
#: By words of OpenSSL or of gRPC's library for TLS.
_TLS_FAULTS: Final = (
    ("certificate has expired", "its certificate has ended; replace it there"),
    ("certificate is not yet valid", "its certificate begins later; compare both clocks"),
    # That of its authority, which it sends along.
    ("certificate in certificate chain", FOREIGN_CERTIFICATE),
    ("self signed certificate", _SELF_SIGNED),
    ("self-signed certificate", _SELF_SIGNED),
    ("local issuer certificate", FOREIGN_CERTIFICATE),
    ("verify the first certificate", FOREIGN_CERTIFICATE),
    ("Hostname", OTHER_NAME),
    ("certificate purpose", CLIENT_CERTIFICATE),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not accepted here"),
    ("did not return a certificate", "it shows no certificate"),
    ("DID_NOT_RETURN_A_CERTIFICATE", "it shows no certificate"),
    ("CERTIFICATE_EXPIRED", "it says that this node's certificate has ended; replace it here"),
    ("UNKNOWN_CA", "it does not know the authority of this node's certificate"),
    ("_ALERT_", "it does not accept this node's certificate; its log says why"),
)

Call = StreamCall
Context = CallContext


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """In bytes, unless the name ends in `_s`."""

    #: The largest accepted payload of an entry.
    entry_bytes: int = 8 << 20
    #: One frame; a larger entry travels alone.
    frame_bytes: int = 1 << 20
    #: Maximum queue per node and lane; beyond it messages are dropped.
    control_queue_bytes: int = 4 << 20
    bulk_queue_bytes: int = 64 << 20
    #: Timeout of a handshake or an introduction.
    answer_s: float = 2.0
    #: A node that acknowledges nothing for this time is reconnected.
    silent_s: float = 5.0
    #: The first and the longest pause after a failure to connect; it doubles each time.
    retry_min_s: float = 0.05
    retry_max_s: float = 1.0

    @property
    def received_bytes(self) -> int:
        """The largest accepted frame."""
        return max(self.entry_bytes, self.frame_bytes) + _FRAME_SLACK

    def queue_bytes(self, lane: Lane) -> int:
        """Maximum queue on a lane to one node."""
        return self.bulk_queue_bytes if lane == "bulk" else self.control_queue_bytes


class Certified(NamedTuple):
    """What the certificate of a caller shows."""

    #: Whom it is for.
    names: frozenset[str]
    #: Whether it was issued for nodes, and not for clients.
    node: bool
    #: Whether its key is too short to prove anything.
    weak: bool = False


@dataclass(frozen=True, slots=True)
class PeerTls:
    """What connections between nodes are encrypted with; the certificates may be replaced."""

    #: Requires a certificate from each client.
    incoming: ssl.SSLContext
    outgoing: ssl.SSLContext
    #: Of calls to other nodes.
    calls: ssl.SSLContext
    #: Returns how often certificates were replaced: a channel keeps those that it began with.
    replaced: Callable[[], int]
    #: Returns what a certificate shows, PEM or DER.
    certified: Callable[[bytes], Certified]


def open_channel(
    address: str,
    limits: StreamLimits,
    largest: int | None = 0,
    *,
    tls: ssl.SSLContext | None = None,
    node: str = "",
) -> Channel:
    """Return a channel with a connection of its own: no vote and no entry queues after calls.

    Messages of up to `largest` bytes are received, by default of a frame's; None: of any size.
    With TLS the other end must have the certificate of `node`.
    """
    bounds = ChannelLimits(
        message_bytes=_ANY_SIZE if largest is None else largest or limits.received_bytes,
        first_pause_s=limits.retry_min_s,
        longest_pause_s=limits.retry_max_s,
        keepalive_s=5.0,
        keepalive_timeout_s=5.0,
    )
    return Channel(address, context=tls, server_name="" if tls is None else node, limits=bounds)


def certificate(context: Context) -> bytes | None:
    """Return the certificate of a caller, as PEM; None if it was not asked for one."""
    shown: Iterable[bytes] = context.auth_context().get("x509_pem_cert", ())
    return next(iter(shown), None)


def tls_fault(text: str) -> str | None:
    """Return why TLS with another node fails, as OpenSSL or gRPC say it; None: for another reason.

    The answer is one of a few sentences, of which each says on which side the repair is.
    """
    found = next((said for word, said in _TLS_FAULTS if word in text), None)
    return found


async def end_call(
    context: Context,
    code: Code,
    text: str,
    metadata: Sequence[tuple[str, bytes]] = (),
) -> None:
    """End a call with a status, and return.

    The exception of `abort` is dropped with its frames, which would keep the request.
    """
    try:
        await context.abort(code, text, tuple(metadata))
    except Exception as aborted:  # noqa: BLE001 - each engine has its own
        drop_frames(aborted)


class Serves(Protocol):
    """A server whose methods may be added."""

    def add_bytes(self, path: str, serve: Any, *, streams: bool = False) -> None:
        """Serve a method whose messages are bytes, and which lets its callers in by itself."""


async def read(stream: Call | Context) -> bytes | None:
    """Return the next message of a stream; None at its end."""
    content: object = await stream.read()
    return content if isinstance(content, bytes) else None


async def ask(channel: Channel, content: bytes, timeout_s: float) -> bytes:
    """Return a node's answer to an introduction."""
    call = channel.unary_unary(f"/{SERVICE}/{INTRODUCE}", None, None)
    answer: bytes = await call(content, timeout=timeout_s)
    return answer


async def ask_challenge(channel: Channel, timeout_s: float) -> bytes:
    """Return the challenge of a connection; raises `CallError`."""
    call = channel.unary_unary(f"/{SERVICE}/{CHALLENGE}", None, peer_pb2.PeerChallenge.FromString)
    answer: peer_pb2.PeerChallenge = await call(b"", timeout=timeout_s)
    return answer.challenge
