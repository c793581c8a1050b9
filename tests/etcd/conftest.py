from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.etcd.programs import RELEASE, built
from tests.support.etcd import ours, stock


@pytest.fixture(scope="session")
def etcdctl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build etcd's own client."""
    package = "go.etcd.io/etcd/etcdctl/v3"
    directory = tmp_path_factory.mktemp("etcdctl")
    return built("etcdctl", directory, [f"{package}@{RELEASE}"], package)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ours.Ours]:
    """Start one node."""
    with ours.started(tmp_path / "ours") as node:
        yield node


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[stock.Etcd]:
    """Start a stock server."""
    if stock.PROGRAM is None:
        pytest.skip("there is no etcd to compare with")
    (tmp_path / "stock").mkdir()
    with stock.Etcd(tmp_path / "stock") as etcd:
        yield etcd
