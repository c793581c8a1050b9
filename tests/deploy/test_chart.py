"""The chart: its objects, and its pods as processes of this machine, by the same files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from quorate.cli.failures import ExitCode
from quorate.cli.installed import find
from quorate.client import Client
from quorate.config import load
from quorate.testing.ports import free_ports
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.deploy.helm import CHART, MARK, helm, rendered

pytestmark = [MARK, pytest.mark.timeout(900)]

NO_TLS = ("--set", "certificatesSecret=")


def test_the_chart_is_what_helm_wants() -> None:
    done = subprocess.run(
        [helm(), "lint", "--strict", str(CHART)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_cluster_is_not_founded_without_all_of_its_founders() -> None:
    command = [helm(), "template", "q", str(CHART), "--set", "replicas=2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "replicas must not be below founders" in done.stderr


@pytest.mark.parametrize("secret", ["quorate-certificates", ""])
def test_the_nodes_of_the_chart_can_be_started(secret: str, tmp_path: Path) -> None:
    made = rendered("--set", "founders=5,replicas=5", "--set", f"certificatesSecret={secret}")
    [container] = pod(made)["containers"]
    environment = {each["name"]: each.get("value", "q-0") for each in container["env"]}
    environment = {
        name: value.replace("$(QUORATE__NODE__NAME)", "q-0") for name, value in environment.items()
    }
    for name, content in made["ConfigMap/q"]["data"].items():
        file = tmp_path / name
        file.write_text(content)
        settings = load(file, find().section_models(), environment)
        members = settings.cluster.join or settings.cluster.initial_members
        assert bool(settings.cluster.join) == (name == "joining.toml")
        assert members["q-0"] == settings.node.address
        assert len(members) == 5
        assert bool(settings.tls.cert_file) == bool(secret)
        assert settings.limits.connections == 4_000
        assert settings.limits.inflight_bytes == 268_435_456


def test_a_pod_has_no_rights_in_kubernetes_and_takes_calls_from_those_alone_who_may() -> None:
    made = rendered("--set", "doors[0].name=zookeeper,doors[0].port=2181")

    assert pod(made)["automountServiceAccountToken"] is False
    assert {"name": "zookeeper", "port": 2181} in made["Service/q"]["spec"]["ports"]
    policy = made["NetworkPolicy/q"]["spec"]
    assert policy["podSelector"]["matchLabels"] == made["Service/q"]["spec"]["selector"]
    opened = [[each["port"] for each in rule["ports"]] for rule in policy["ingress"]]
    assert opened == [[7401, 7501, 7601], [7401, 2181], [7501]]
    assert "NetworkPolicy/q" not in rendered("--set", "networkPolicy.enabled=false")


def pod(made: dict[str, Any]) -> Any:
    return made["StatefulSet/q"]["spec"]["template"]["spec"]


class Pods:
    """The pods of a release, every host of which is loopback."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        first = free_ports(*range(4), *range(100, 104), *range(200, 204))[0]
        self.ports = {f"q-{number}": first + number for number in range(4)}
        self.programs = {name: Program(name, directory / f"{name}.out") for name in self.ports}

    def apply(self, replicas: int) -> bool:
        """Write the configuration of a release; return whether it changed."""
        self.made = rendered("--set", f"replicas={replicas}", *NO_TLS)
        changed = False
        for name, text in self.made["ConfigMap/q"]["data"].items():
            for pod_name, port in self.ports.items():
                text = text.replace(f"{pod_name}.q-nodes.ns.svc:7401", f"127.0.0.1:{port}")
            file = self.directory / name
            changed |= not file.exists() or file.read_text() != text
            file.write_text(text)
        return changed

    def start(self, name: str) -> None:
        [container] = pod(self.made)["containers"]
        port = self.ports[name]
        given = {k: v for k, v in os.environ.items() if not k.startswith("QUORATE_")}
        for each in container["env"]:
            source = each.get("valueFrom", {})
            field = source.get("fieldRef", {}).get("fieldPath", "")
            # No zone: the label is missing.
            known = {"metadata.name": name, "spec.nodeName": f"host-{name}"}
            given[each["name"]] = each.get("value", known.get(field, ""))
            if "secretKeyRef" in source:
                given[each["name"]] = "a secret of the nodes"
        given |= {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "QUORATE__NODE__HOST": "127.0.0.1",
            "QUORATE__NODE__PORT": str(port),
            "QUORATE__NODE__HTTP_PORT": str(port + 100),
            "QUORATE__NODE__PEER_PORT": str(port + 200),
            "QUORATE__NODE__DIR": str(self.directory / name),
        }
        arguments = [
            each.replace("/etc/quorate", str(self.directory)) for each in container["args"]
        ]
        self.programs[name].start([*container["command"], *arguments], given)

    def quorate(self, *words: str) -> None:
        command = [sys.executable, "-m", "quorate.cli", *words, "--endpoints", self.endpoints]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    @property
    def endpoints(self) -> str:
        return ",".join(f"127.0.0.1:{self.ports[f'q-{number}']}" for number in range(3))

    def says(self, name: str, what: str, times: int = 1) -> None:
        """Wait until a pod has logged something so often."""
        until(lambda: self.programs[name].said.count(what) == times or None)


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[Pods]:
    found = Pods(tmp_path)
    with ExitStack() as stack:
        for program in found.programs.values():
            stack.callback(program.close)
        yield found


def test_pods_are_three_and_four_and_three_again(pods: Pods) -> None:
    assert pods.apply(3)
    for name in ("q-0", "q-1", "q-2"):
        pods.start(name)
    for name in ("q-0", "q-1", "q-2"):
        pods.says(name, f"ready: node {name} ")
    with Client(pods.endpoints) as client:
        client.kv.put("a/b", b"1")

        # The pods that are there do not change.
        assert not pods.apply(4)
        for turn in (1, 2):
            pods.start("q-3")
            pods.says("q-3", "waiting to be added", turn)
            pods.quorate("member", "add", "q-3", f"127.0.0.1:{pods.ports['q-3']}")
            pods.says("q-3", "ready: node q-3 ", turn)
            client.kv.put("a/c", b"2")

            # First the node, then its pod.
            pods.quorate("member", "remove", "q-3")
            assert pods.programs["q-3"].wait() == ExitCode.REMOVED
            assert not pods.apply(3)
            # With the volume that it had it is not taken in again.
            pods.start("q-3")
            assert pods.programs["q-3"].wait() == ExitCode.REMOVED
            shutil.rmtree(pods.directory / "q-3")
        pair = client.kv.get("a/b")
        assert pair is not None
        assert pair.value == b"1"
    for name in ("q-0", "q-1", "q-2"):
        assert pods.programs[name].end(signal.SIGTERM) == 0
