"""Four-letter commands: each replies with text for operators and closes the connection."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import resource
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from quorate_zookeeper.v1 import queries_pb2 as asked

if TYPE_CHECKING:
    from quorate_zookeeper.serving.connection import Connection
    from quorate_zookeeper.serving.server import Server

_log = logging.getLogger(__name__)

#: The emulated release of ZooKeeper; clients choose features by it.
VERSION: Final = "3.9.3"
_VERSION_LINE: Final = f"Zookeeper version: {VERSION}-quorate, built on 11/23/2026 00:00 GMT\n"
_NOT_SERVING: Final = "This ZooKeeper instance is not currently serving requests\n"
_TIMEOUT_S: Final = 5.0


async def answer(server: Server, connection: Connection, word: str) -> None:
    """Answer a command, and close its connection."""
    allowed = server.config.four_letter_words
    if word not in allowed and "*" not in allowed:
        text = f"{word} is not executed because it is not in the whitelist.\n"
    else:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                text = await WORDS[word](server)
        except Exception as error:  # noqa: BLE001 - the reply reports the failure
            _log.info("cannot answer %s: %s", word, error)
            text = _NOT_SERVING
    connection.write_last(text.encode())


async def _figures(server: Server) -> asked.Figures:
    if not server.live:
        raise LookupError("this node has not loaded the tree of znodes yet")
    answers = await server.node.read(asked.CountTree(), asked.Figures, consistency="stale")
    return answers.rows[0]


async def _ruok(_: Server) -> str:
    return "imok"


async def _isro(server: Server) -> str:
    return "rw" if server.live else "null"


async def _srvr(server: Server) -> str:
    return _VERSION_LINE + await _state(server)


async def _stat(server: Server) -> str:
    clients = "".join(f" {_line(each)})\n" for each in server.connections)
    return f"{_VERSION_LINE}Clients:\n{clients}\n{await _state(server)}"


async def _cons(server: Server) -> str:
    return "".join(
        f" {_line(each)},sid={each.session:#x},to={int(each.timeout_s * 1_000)},"
        f"lzxid={each.zxid:#x})\n"
        for each in server.connections
    )


async def _conf(server: Server) -> str:
    config = server.config
    return (
        f"clientPort={config.port}\nsecureClientPort={config.tls_port}\n"
        f"maxClientCnxns={config.connections_per_host}\n"
        f"minSessionTimeout={config.min_session_timeout_ms}\n"
        f"maxSessionTimeout={config.max_session_timeout_ms}\n"
    )


async def _envi(_: Server) -> str:
    return (
        f"Environment:\nzookeeper.version={VERSION}-quorate\nhost.name={platform.node()}\n"
        f"python.version={sys.version.split()[0]}\nos.name={platform.system()}\n"
        f"os.arch={platform.machine()}\n"
    )


async def _mntr(server: Server) -> str:
    figures, counts = await _figures(server), server.counts
    shortest_ms, mean_ms, longest_ms = counts.latency_ms()
    open_files, most_files = _files()
    values = {
        "version": f"{VERSION}-quorate",
        "server_state": "follower",
        "peer_state": "following - broadcast",
        "uptime": int((server.now_s() - server.began_s) * 1_000),
        "min_latency": shortest_ms,
        "avg_latency": mean_ms,
        "max_latency": longest_ms,
        "packets_received": server.received,
        "packets_sent": server.sent,
        "num_alive_connections": len(server.connections),
        "connection_drop_count": counts.dropped,
        "connection_rejected": counts.rejected,
        "auth_failed_count": counts.refused_identities,
        "outstanding_requests": _outstanding(server),
        "znode_count": figures.znodes,
        "ephemerals_count": figures.ephemerals,
        "approximate_data_size": figures.bytes,
        "global_sessions": figures.sessions,
        "local_sessions": 0,
        "watch_count": len(server.watches),
        "open_file_descriptor_count": open_files,
        "max_file_descriptor_count": most_files,
    }
    return "".join(f"zk_{name}\t{value}\n" for name, value in values.items())


def _files() -> tuple[int, int]:
    """Return the number of open files of the process and its limit; -1 if unknown."""
    try:
        return len(os.listdir("/proc/self/fd")), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except OSError:
        return -1, -1


async def _wchs(server: Server) -> str:
    watchers, paths = server.watches.counts()
    return f"{watchers} connections watching {paths} paths\nTotal watches:{len(server.watches)}\n"


async def _wchp(server: Server) -> str:
    return "".join(
        f"{path}\n" + "".join(f"\t{session:#x}\n" for session in sessions)
        for path, sessions in server.watches.by_path().items()
    )


async def _wchc(server: Server) -> str:
    return "".join(
        f"{session:#x}\n" + "".join(f"\t{path}\n" for path in paths)
        for session, paths in server.watches.by_session()
    )


async def _state(server: Server) -> str:
    figures = await _figures(server)
    shortest_ms, mean_ms, longest_ms = server.counts.latency_ms()
    return (
        f"Latency min/avg/max: {shortest_ms}/{mean_ms}/{longest_ms}\n"
        f"Received: {server.received}\n"
        f"Sent: {server.sent}\n"
        f"Connections: {len(server.connections)}\n"
        f"Outstanding: {_outstanding(server)}\n"
        f"Zxid: {figures.zxid:#x}\n"
        "Mode: follower\n"
        f"Node count: {figures.znodes}\n"
    )


def _outstanding(server: Server) -> int:
    return sum(each.outstanding for each in server.connections)


def _line(connection: Connection) -> str:
    return (
        f"/{connection.peer}[1](queued={connection.outstanding},recved={connection.received},"
        f"sent={connection.sent}"
    )


#: By name.
WORDS: Final[dict[str, Callable[[Server], Awaitable[str]]]] = {
    "ruok": _ruok,
    "isro": _isro,
    "srvr": _srvr,
    "stat": _stat,
    "cons": _cons,
    "conf": _conf,
    "envi": _envi,
    "mntr": _mntr,
    "wchs": _wchs,
    "wchp": _wchp,
    "wchc": _wchc,
}
