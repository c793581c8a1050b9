"""The examples in Go and Java write once, and see each change once, while leaders are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from quorate.testing.cluster import Cluster

from tests.interop.programs import needs_go

pytestmark = [pytest.mark.full, pytest.mark.timeout(1_500)]
EXAMPLES = Path(__file__).parents[2] / "examples"
LAST = 600
#: The node that leads the shard is killed when a program has counted to one of these.
KILLS = (200, 400)
BUILD_S = 1_200


def copied(name: str, directory: Path) -> Path:
    """Return a copy of an example with the .proto files that its programs are generated from."""
    project = directory / name
    shutil.copytree(EXAMPLES / name, project)
    export = [sys.executable, "-m", "quorate.cli", "protos", "export", str(project / "protos")]
    subprocess.run(export, check=True, capture_output=True, timeout=BUILD_S)
    return project


def told(*command: str, cwd: Path, **environment: str) -> None:
    """Run a step of a build; skip the test where it fails, and say how."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"{' '.join(command[:2])} fails: {done.stdout[-500:]}")


@needs_go
def test_a_program_in_go_counts_while_leaders_are_killed(tmp_path: Path) -> None:
    """A write that is done twice would be refused, and a change that is missed would be a gap."""
    project = copied("go", tmp_path)
    told("sh", "generate.sh", "protos", cwd=project, PROTOC=compiler(tmp_path))
    told("go", "mod", "download", cwd=project)
    subprocess.run(["go", "build", "-o", "count", "."], cwd=project, check=True, timeout=BUILD_S)
    subprocess.run(["go", "vet", "."], cwd=project, check=True, timeout=BUILD_S)
    with Cluster(tmp_path / "nodes") as cluster:
        cluster.ready()
        command = [str(project / "count"), "-count", str(LAST)]
        count_through_kills(command, cluster, "go")


@pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None, reason="it is built by Maven"
)
def test_a_program_in_java_counts_while_leaders_are_killed(tmp_path: Path) -> None:
    """As in Go."""
    project = copied("java", tmp_path)
    fetched = tmp_path / "class-path"
    told("mvn", "-q", "-B", "generate-sources", cwd=project)
    told(
        *("mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={fetched}"),
        cwd=project,
    )
    subprocess.run(["mvn", "-q", "-B", "compile"], cwd=project, check=True, timeout=BUILD_S)
    classes = f"{project / 'target' / 'classes'}:{fetched.read_text().strip()}"
    with Cluster(tmp_path / "nodes") as cluster:
        cluster.ready()
        command = ["java", "-cp", classes, "broker.Count", str(LAST)]
        count_through_kills(command, cluster, "java")


def compiler(directory: Path) -> str:
    """Return a protobuf compiler: that of the machine, or that of grpcio-tools."""
    if found := shutil.which("protoc"):
        return found
    pytest.importorskip("grpc_tools", reason="neither protoc nor grpcio-tools is installed")
    program = directory / "protoc"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m grpc_tools.protoc "$@"\n')
    program.chmod(0o755)
    return str(program)


def count_through_kills(command: list[str], cluster: Cluster, shard_key: str) -> None:
    """Run a program to its end; kill the leader of its shard now and then."""
    addresses = cluster.endpoints.split(",")
    printed: list[str] = []
    with subprocess.Popen(
        [*command, *addresses], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        try:
            assert program.stdout is not None
            for line in program.stdout:
                printed.append(line.strip())
                if printed[-1] in {f"counted to {number}" for number in KILLS}:
                    leader = cluster.leader(cluster.shard_of("metadata", shard_key.encode()))
                    leader.kill()
                    leader.start()
                    leader.ready()
            assert program.wait(60) == 0, printed
        finally:
            program.kill()
    assert printed[0].removeprefix("led by ") in addresses, printed
    assert printed[-1] == f"stored {LAST}, watched {LAST}, gaps 0", printed
