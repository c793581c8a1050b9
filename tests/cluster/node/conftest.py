"""Clusters of real node processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from quorate.testing.cluster import QUICK_ELECTIONS

from tests.support.proxied_cluster import ProxiedCluster


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedCluster]:
    """Three nodes with proxies between them, for all tests of a module: each leaves them whole."""
    directory = tmp_path_factory.mktemp("proxied")
    with ProxiedCluster(directory, settings={"timing": QUICK_ELECTIONS}) as cluster:
        yield cluster.ready()
