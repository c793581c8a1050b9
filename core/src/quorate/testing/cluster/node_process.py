"""One node as a test holds it: `quorate serve` in a process of its own."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from quorate.client import Tls
from quorate.observe.failpoints import VARIABLE
from quorate.plugin import Stub
from quorate.testing.program import Program
from quorate.testing.waiting import until
from quorate.v1 import admin_pb2

_SERVE: Final = """
import sys
from quorate.cli.main import main
from quorate.testing.program import end_with_parent
from quorate.testing.program import shift
end_with_parent(shift)
sys.exit(main())
"""
#: How long a node may take to say what it is doing.
_ANSWER_S: Final = 2.0


class NodeProcess:
    """A node, its directory and its configuration file."""

    def __init__(
        self,
        name: str,
        file: Path,
        directory: Path,
        *,
        bound: str,
        address: str,
        http_address: str,
        peer_port: int,
        tls: Tls | None = None,
    ) -> None:
        self.name: Final = name
        #: The configuration file; what is changed in it counts from the next start on.
        self.file: Final = file
        self.directory: Final = directory
        #: Where it listens.
        self.bound: Final = bound
        #: Where clients reach it: `bound`, unless there is a way in between.
        self.address: Final = address
        self.http_address: Final = http_address
        #: Where other nodes connect.
        self.peer_port: Final = peer_port
        self._tls: Final = tls
        #: What it is killed at when it is started the next time, by the name of the failpoint; with
        #: "=", what happens there instead.
        self.failpoint = ""
        #: Where another release is installed, which it runs from the next start on.
        self.packages: Path | None = None
        self._program: Final = Program(name, directory.with_suffix(".log"))
        self._channel: grpc.Channel | None = None

    @property
    def said(self) -> str:
        """What it wrote to its standard output and error, in all its lives."""
        return self._program.said

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._program.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended; a paused one runs."""
        return self._program.runs

    def start(self) -> None:
        """Start it, on the directory that it had."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
        environment["GRPC_VERBOSITY"] = "ERROR"
        if self.failpoint:
            armed = self.failpoint if "=" in self.failpoint else f"{self.failpoint}=kill"
            environment[VARIABLE] = armed
        if self.packages is not None:
            environment["PYTHONPATH"] = str(self.packages)
        command = [sys.executable, "-c", _SERVE, "serve", "--config", str(self.file)]
        self._program.start(command, environment)

    def ready(self) -> None:
        """Wait until it is ready; raises `AssertionError` with its last words when it ends."""
        until(self._ready_or_ended)

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop, wait until it has, and return its exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until it ends by itself, and return its exit code."""
        return self._program.wait()

    def pause(self) -> None:
        """Stop its clockwork by SIGSTOP: it holds its connections and does nothing."""
        self._program.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on where it was paused."""
        self._program.send_signal(signal.SIGCONT)

    def shift_clock(self, seconds: float) -> None:
        """Let its wall clock be off by so much from now on, until it ends; its timeouts are not."""
        self._program.tell(f"{seconds:g}")

    def wipe(self) -> None:
        """Delete its directory, as if its disk had been replaced."""
        if self.runs:
            raise RuntimeError(f"{self.name} runs; kill or stop it before its directory goes")
        shutil.rmtree(self.directory)

    def report(self) -> admin_pb2.NodeStatusResponse | None:
        """Return what it says that it is doing; None when it does not answer."""
        if not self.runs:
            return None
        admin = Stub(self._connected(), admin_pb2.DESCRIPTOR.services_by_name["AdminService"])
        try:
            found: admin_pb2.NodeStatusResponse = admin.Status(
                admin_pb2.NodeStatusRequest(), timeout=_ANSWER_S
            )
        except grpc.RpcError:
            return None
        return found

    def transfer(self, shard: str, to: str) -> None:
        """Ask it to hand a shard that it leads to another node.

        It refuses what cannot be now; who leads then is for `Cluster.leader` to say.
        """
        admin = Stub(self._connected(), admin_pb2.DESCRIPTOR.services_by_name["AdminService"])
        with suppress(grpc.RpcError):
            admin.TransferLeader(
                admin_pb2.TransferLeaderRequest(shard=shard, node=to), timeout=_ANSWER_S
            )

    def channel(self) -> grpc.Channel:
        """Return a new channel to it, which the caller closes."""
        return _channel(self.address, self._tls)

    def close(self) -> None:
        """End it whatever it does."""
        self._program.close()
        self._disconnect()

    @property
    def is_ready(self) -> bool:
        """Whether its health service says so."""
        if not self.runs:
            return False
        health = Stub(self._connected(), health_pb2.DESCRIPTOR.services_by_name["Health"])
        try:
            told = health.Check(health_pb2.HealthCheckRequest(), timeout=_ANSWER_S)
        except grpc.RpcError:
            return False
        return bool(told.status == health_pb2.HealthCheckResponse.SERVING)

    def _ready_or_ended(self) -> bool | None:
        if not self.runs:
            *_, last = self.said.splitlines() or ["nothing"]
            raise AssertionError(f"{self.name} ended before it was ready, and said: {last}")
        return self.is_ready or None

    def _connected(self) -> grpc.Channel:
        if self._channel is None:
            self._channel = _channel(self.bound, self._tls)
        return self._channel

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _end(self, number: signal.Signals) -> int:
        code = self._program.end(number)
        self._disconnect()
        return code


def _channel(address: str, tls: Tls | None) -> grpc.Channel:
    """Return a channel of its own, that comes back at once when the process does."""
    options = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 20),
        # The least time to connect: a busy machine needs more than the pauses between attempts.
        ("grpc.min_reconnect_backoff_ms", 1_000),
        ("grpc.max_reconnect_backoff_ms", 50),
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ]
    if tls is None:
        return grpc.insecure_channel(address, options=options)
    return grpc.secure_channel(address, tls.credentials(), options=options)
