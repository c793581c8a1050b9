"""One node under the control of a test: `quorate serve` in its own process."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from quorate.client import Tls
from quorate.observe.failpoints import VARIABLE
from quorate.plugin.advanced import Stub
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
#: Time limit for a node to answer a status call.
_ANSWER_S: Final = 2.0


@dataclass(eq=False)
class NodeProcess:
    """A node, its directory and its configuration file."""

    name: str
    #: The configuration file; changes take effect at the next start.
    file: Path
    directory: Path
    #: The address at which it listens.
    bound: str
    #: The address at which clients reach it: `bound`, unless there is a proxy in between.
    address: str
    http_address: str
    #: The port for other nodes.
    peer_port: int
    tls: Tls | None = None
    #: The failpoint that kills it after its next start; with "=", the action at the failpoint
    #: instead.
    failpoint: str = ""
    #: The directory of another release, which it runs from the next start on.
    packages: Path | None = None
    #: Whether its process is forked from one that has imported this release.
    forked: bool = True
    _channel: grpc.Channel | None = None

    @cached_property
    def _program(self) -> Program:
        return Program(self.name, self.directory.with_suffix(".log"))

    @property
    def said(self) -> str:
        """Its standard output and error, of all its runs."""
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
        """Start it, on its present directory."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
        environment["GRPC_VERBOSITY"] = "ERROR"
        if self.failpoint:
            armed = self.failpoint if "=" in self.failpoint else f"{self.failpoint}=kill"
            environment[VARIABLE] = armed
        arguments = ("serve", "--config", str(self.file))
        if self.packages is not None:
            environment["PYTHONPATH"] = str(self.packages)
        elif self.forked:
            self._program.fork(arguments, environment)
            return
        self._program.start([sys.executable, "-c", _SERVE, *arguments], environment)

    def ready(self) -> None:
        """Wait until it is ready; raises `AssertionError` with its last output if it ends."""
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
        """Suspend it by SIGSTOP: it keeps its connections and does nothing."""
        self._program.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it after a pause."""
        self._program.send_signal(signal.SIGCONT)

    def shift_clock(self, seconds: float) -> None:
        """Shift its wall clock from now on, until it ends; its timeouts are not affected."""
        self._program.tell(f"{seconds:g}")

    def wipe(self) -> None:
        """Delete its directory, as if its disk had been replaced."""
        if self.runs:
            raise RuntimeError(f"{self.name} runs; kill or stop it before its directory goes")
        shutil.rmtree(self.directory)

    def report(self) -> admin_pb2.NodeStatusResponse | None:
        """Return its status; None if it does not answer."""
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
        """Ask it to transfer the leadership of a shard to another node.

        It may refuse; `Cluster.leader` returns the leader after that.
        """
        admin = Stub(self._connected(), admin_pb2.DESCRIPTOR.services_by_name["AdminService"])
        with suppress(grpc.RpcError):
            admin.TransferLeader(
                admin_pb2.TransferLeaderRequest(shard=shard, node=to), timeout=_ANSWER_S
            )

    def channel(self) -> grpc.Channel:
        """Return a new channel to it, which the caller closes."""
        return _channel(self.address, self.tls)

    def close(self) -> None:
        """Kill it, if it runs, and close its channel."""
        self._program.close()
        self._disconnect()

    @property
    def is_ready(self) -> bool:
        """Whether its health service reports SERVING."""
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
            self._channel = _channel(self.bound, self.tls)
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
    """Return a separate channel, which reconnects at once when the process is back."""
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
