"""The own tests of clients, against a node: as many pass as against a stock server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.etcd.programs import python_with, ran
from tests.support.etcd.ours import Ours

pytestmark = [pytest.mark.full, pytest.mark.timeout(1_500)]


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
