"""Nodes that form a cluster, each with its own configuration file."""

import os
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Self

import tomlkit

from quorate.cli.authority import make_authority, sign
from quorate.client import Client, RejectedError, Tls
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.ports import HeldPort
from quorate.testing.waiting import until
from quorate.v1 import auth_pb2

#: Names a directory with an authority, as `quorate cert init` and `quorate cert create client
#: --client` write it: all clusters are encrypted with it, and ask clients for its certificates. The
#: user `client` is their administrator.
CERTIFICATES: Final = "QUORATE_TEST_CERTIFICATES"
#: The section `timing` where a test waits for elections: they take less time than by default, and
#: nodes that share their machine with other tests still hear of each other in time.
QUICK_ELECTIONS: Final = {"heartbeat_ms": 50, "election_min_ms": 400, "election_max_ms": 800}
#: Sections of a node's file.
Settings = Mapping[str, Mapping[str, object]]


class Cluster:
    """Processes node1, node2, ...; entering the context starts them, leaving it ends them all.

    `plugins` are enabled besides those of core, and `settings` are in the file of every node.
    With `tls` all nodes and clients need a certificate: `tls` has that of a client, `certificates`
    the authority that signs more. By default QUORATE_TEST_CERTIFICATES decides. Unless nodes are
    to be `forked`, each makes its imports itself, as nodes of users do: see `Program.fork`.
    """

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        *,
        plugins: Collection[str] = (),
        settings: Settings | None = None,
        tls: bool | None = None,
        forked: bool = True,
    ) -> None:
        self._directory: Final = directory
        shared = os.environ.get(CERTIFICATES) if tls is None else None
        self.certificates: Final = Path(shared) if shared else directory / "certs"
        #: The certificate files of a client; None: connections are not encrypted.
        self.tls: Final = self._certified("client") if tls or shared else None
        self._asks_callers = bool(shared)
        self._plugins: Final = tuple(plugins)
        self._settings: Final = settings or {}
        self._forked: Final = forked
        self._exit: Final = ExitStack()
        self._initial: Final = tuple(f"node{number}" for number in range(1, nodes + 1))
        #: All nodes by name, the initial and the added ones.
        self.nodes: Final[dict[str, NodeProcess]] = {}
        directory.mkdir(parents=True, exist_ok=True)
        if tls:
            make_authority(self.certificates)
            sign(self.certificates, "client", ["client"], serves=False)
        for name in self._initial:
            self._place(name)
        for name in self._initial:
            self._write(name, "initial_members", self._initial)

    def __enter__(self) -> Self:
        try:
            for name in self._initial:
                self.nodes[name].start()
        except BaseException:
            self._exit.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @property
    def endpoints(self) -> str:
        """The addresses of all nodes, as clients and the CLI take them."""
        return ",".join(node.address for node in self.nodes.values())

    def ready(self) -> Self:
        """Wait until every node that was started is ready."""
        for node in self.nodes.values():
            if node.runs:
                node.ready()
        if self._asks_callers:
            self._asks_callers = False
            self.ask_callers()
        return self

    def ask_callers(self) -> None:
        """Enable authentication: the nodes serve known users only, at first the admin `client`."""
        request = auth_pb2.EnableAuth(administrator="client")
        with (
            Client(self.endpoints, tls=self.tls) as client,
            # A restored cluster has authentication enabled already.
            suppress(RejectedError),
        ):
            client.call("/quorate.v1.AuthService/Enable", request, auth_pb2.NewToken)

    def leader(self, shard: str = "metadata/0") -> NodeProcess:
        """Wait for the leader of the latest term of a shard, and return it."""

        def find() -> NodeProcess | None:
            led = [
                (report.term, name)
                for name, node in self.nodes.items()
                if (status := node.report()) is not None
                for report in status.shards
                if report.shard == shard and report.role == "leader"
            ]
            return self.nodes[max(led)[1]] if led else None

        return until(find)

    def shard_of(self, group: str, shard_key: bytes) -> str:
        """Return the shard that holds a shard key, as `leader` takes it."""
        with Client(self.endpoints, tls=self.tls) as client:
            return client.shard_of(group, shard_key)

    def followers(self, shard: str = "metadata/0") -> list[NodeProcess]:
        """Return the nodes that run and do not lead a shard."""
        leader = self.leader(shard)
        return [node for node in self.nodes.values() if node.runs and node is not leader]

    def add(self, name: str) -> NodeProcess:
        """Add a node that joins the existing ones, without starting it."""
        present = tuple(self.nodes)
        node = self._place(name)
        self._write(name, "join", present)
        return node

    def _place(self, name: str) -> NodeProcess:
        if name in self.nodes:
            raise ValueError(f"node {name} already exists; choose another name")
        port, http_port, peer_port = (self._exit.enter_context(HeldPort()) for _ in range(3))
        node = NodeProcess(
            name,
            self._directory / f"{name}.toml",
            self._directory / name,
            bound=port.address,
            address=self._front(name, port.address, peer_port.number),
            http_address=http_port.address,
            peer_port=peer_port.number,
            tls=self.tls,
            forked=self._forked,
        )
        if self.tls is not None:
            sign(self.certificates, name, [name, "127.0.0.1"])
        self._exit.callback(node.close)
        self.nodes[name] = node
        return node

    def _write(self, name: str, key: str, others: Collection[str]) -> None:
        """Write the configuration file of a node; `key` is the setting that lists other nodes."""
        node = self.nodes[name]
        own: dict[str, dict[str, object]] = {
            "node": {
                "name": name,
                "port": _port(node.bound),
                "http_port": _port(node.http_address),
                "peer_port": node.peer_port,
                "dir": str(node.directory),
            },
            "cluster": {
                "token": "test",
                key: {other: self._address(name, other) for other in others},
            },
            "plugins": {"enabled": list(self._plugins)},
        }
        if self.tls is not None:
            files = self._certified(name)
            own["tls"] = {
                "cert_file": str(files.cert),
                "key_file": str(files.key),
                "ca_file": str(files.ca),
                "require_client_cert": True,
            }
        sections = {
            section: {**own.get(section, {}), **self._settings.get(section, {})}
            for section in {**own, **self._settings}
        }
        node.file.write_text(tomlkit.dumps(sections))

    def _certified(self, name: str) -> Tls:
        files = (self.certificates / each for each in ("ca.pem", f"{name}.pem", f"{name}.key"))
        ca, cert, key = files
        return Tls(ca=ca, cert=cert, key=key)

    def _front(self, name: str, address: str, peer_port: int) -> str:
        """Return the address at which clients reach a node that listens at `address`."""
        return address

    def _address(self, source: str, target: str) -> str:
        """Return the address at which one node reaches another; its own is that for clients."""
        return self.nodes[target].address


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
