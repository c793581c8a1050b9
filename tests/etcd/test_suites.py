"""The own tests of clients, against a node: as many pass as against a stock server."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Final

import pytest

from tests.etcd.programs import python_with, ran
from tests.support.etcd.ours import Ours

pytestmark = [pytest.mark.full, pytest.mark.timeout(2_400)]

#: Tests of etcd3 that pass nowhere, with the reason; 77 pass on a stock server.
ETCD3_LEFT_OUT: Final = {
    "test_get_key_serializable": "it stops members of a cluster, which it finds by their name",
    "test_get_prefix_serializable": "the same",
    "test_member_list": "it wants three members",
    "test_snapshot": "it wants `etcdctl snapshot status`, which is a command of etcdutl now, and a "
    "node refuses `Snapshot`",
    "test_user_pwd_auth": "it mocks a module that is not there",
}


def passed(text: str) -> int:
    found = re.search(r"(\d+) passed", text)
    return 0 if found is None else int(found[1])


def test_etcd3gw(node: Ours, tmp_path: Path) -> None:
    python = python_with(tmp_path / "python", "etcd3gw", "oslotest", "pytest", "setuptools<81")
    code, text = ran(
        *(python, "-m", "pytest", "-q", "--pyargs", "etcd3gw.tests.test_etcd3gw"),
        cwd=tmp_path,
        TOOZ_TEST_HTTP_URL=f"http://127.0.0.1:{node.port}",
        TOOZ_TEST_ETCD_PORT=str(node.port),
    )
    assert (code, passed(text)) == (0, 23), text


def test_tooz(node: Ours, tmp_path: Path) -> None:
    # Its tests import the clients of everything that it supports.
    drivers = "tooz[etcd3gw,memcached,redis,zookeeper,mysql,postgresql,consul]"
    python = python_with(
        *(tmp_path / "python", drivers, "sysv_ipc", "ddt", "pytest", "testtools", "fixtures"),
        "setuptools<81",
    )
    code, text = ran(
        *(python, "-m", "pytest", "-q", "--pyargs", "tooz.tests.test_coordination"),
        cwd=tmp_path,
        TOOZ_TEST_URL=f"etcd3+http://127.0.0.1:{node.port}",
    )
    assert (code, passed(text)) == (0, 65), text


@pytest.mark.parametrize("server", ["node", "etcd"])
def test_etcd3(server: str, request: pytest.FixtureRequest, etcdctl: Path, tmp_path: Path) -> None:
    port = request.getfixturevalue(server).port
    python = python_with(
        *(tmp_path / "python", "etcd3==0.12.0", "hypothesis<6", "tenacity==6.1.0", "protobuf<8"),
        *("mock", "pytest", "setuptools<81"),
    )
    tests = etcd3_tests(python, tmp_path, port)
    left_out = " or ".join(ETCD3_LEFT_OUT)
    code, text = ran(
        *(python, "-m", "pytest", "-q", "-W", "ignore", "-k", f"not ({left_out})", tests),
        cwd=tmp_path,
        within_s=1_200,
        PATH=f"{etcdctl.parent}{os.pathsep}{os.environ['PATH']}",
        # Its messages were generated for an older protobuf.
        PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python",
        PYTHON_ETCD_HTTP_URL=f"http://127.0.0.1:{port}",
        TEST_ETCD_VERSION="v3.5.0",
    )
    assert (code, passed(text)) == (0, 77), text


def etcd3_tests(python: Path, directory: Path, port: int) -> str:
    """Return the folder of etcd3's own tests, which its wheel leaves out.

    Some want port 2379, and get this one; those that draw keys draw ten and not a hundred, each of
    which costs a run of etcdctl.
    """
    options = ("--no-deps", "--no-binary", ":all:", "-d", directory)
    code, said = ran(python, "-m", "pip", "download", "-q", *options, "etcd3==0.12.0")
    if code:
        pytest.skip(f"the source of etcd3 cannot be had: {said[-300:]}")
    [archive] = directory.glob("etcd3-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(directory, filter="data")
    shutil.move(directory / "etcd3-0.12.0" / "tests", directory / "tests")
    file = directory / "tests" / "test_etcd3.py"
    text = file.read_text()
    for old, new in (
        ("etcd3.client()", f"etcd3.client(port={port})"),
        ("deadline=None)", "deadline=None, max_examples=10)"),
    ):
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    return "tests"
