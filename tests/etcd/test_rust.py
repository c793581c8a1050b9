"""The own tests of the Rust client, against a node."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.etcd.programs import python_with, ran
from tests.support.etcd.newest import cache
from tests.support.etcd.ours import Ours, started

pytestmark = [pytest.mark.full, pytest.mark.timeout(2_400)]

_RELEASE: Final = "0.21.0"
_MANIFEST: Final = f"""
[package]
name = "fetched"
version = "0.0.0"
edition = "2021"

[dependencies]
etcd-client = "={_RELEASE}"
"""
#: They add members and ask for a snapshot, which are refused.
LEFT_OUT: Final = ("test_cluster", "test_snapshot")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Ours]:
    """Start a node whose tokens end sooner than they wait for it."""
    with started(tmp_path / "ours", auth_token_ttl_s=3) as node:
        yield node


def test_etcd_client(node: Ours, etcdctl: Path, tmp_path: Path) -> None:
    endpoint = f"127.0.0.1:{node.port}"
    source = with_its_endpoint(fetched(tmp_path), endpoint)
    # What they want to be there: the user that they log in as.
    for line in ("user add root:rootpwd", "role add root", "user grant-role root root"):
        code, text = ran(etcdctl, "--endpoints", endpoint, *line.split())
        assert code == 0, text
    suites = ["--test", "client", "--test", "namespace"]
    # Those of the newest servers are ignored by default.
    chosen = ["--include-ignored", *(word for name in LEFT_OUT for word in ("--skip", name))]
    command = ["cargo", "test", "--locked", *suites, "--", "--test-threads", "1", *chosen]
    code, text = ran(
        *command,
        cwd=source,
        within_s=2_000,
        PROTOC=str(protoc(tmp_path)),
        CARGO_TARGET_DIR=str(cache() / f"etcd-client-{_RELEASE}"),
    )
    if "could not compile" in text or "failed to run custom build command" in text:
        pytest.skip(f"etcd-client cannot be built: {text[-300:]}")
    done = re.findall(r"^test \w+ \.\.\. ok$", text, re.M)
    assert (code, len(done)) == (0, 26), text


def fetched(directory: Path) -> Path:
    """Return a copy of the source of the crate, which cargo fetches."""
    if shutil.which("cargo") is None:
        pytest.skip("it is built with cargo, which is not here")
    package = directory / "fetched"
    (package / "src").mkdir(parents=True)
    (package / "src" / "lib.rs").touch()
    (package / "Cargo.toml").write_text(_MANIFEST)
    code, text = ran("cargo", "metadata", "-q", "--format-version", "1", cwd=package)
    if code:
        pytest.skip(f"cargo cannot fetch etcd-client: {text[-300:]}")
    [manifest] = [
        each["manifest_path"]
        for each in json.loads(text.splitlines()[0])["packages"]
        if each["name"] == "etcd-client"
    ]
    return Path(shutil.copytree(Path(manifest).parent, directory / "etcd-client"))


def with_its_endpoint(source: Path, endpoint: str) -> Path:
    """Have the tests of a crate call this endpoint, in the place of localhost:2379."""
    file = source / "tests" / "testing.rs"
    text = file.read_text()
    assert text.count('"localhost:2379"') == 1
    file.write_text(text.replace('"localhost:2379"', f'"{endpoint}"'))
    return source


def protoc(directory: Path) -> Path:
    """Return a compiler of protobuf's files, which the build of the crate runs."""
    if (installed := shutil.which("protoc")) is not None:
        return Path(installed)
    python = python_with(directory / "protoc-python", "grpcio-tools", "setuptools<81")
    script = directory / "protoc"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m grpc_tools.protoc "$@"\n')
    script.chmod(0o700)
    return script
