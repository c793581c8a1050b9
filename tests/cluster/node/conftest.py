"""Clusters of real node processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.proxied_cluster import ProxiedCluster

#: Fewer seconds a test; a machine that runs other tests beside it still keeps up.
TIMING = {"heartbeat_ms": 50, "election_min_ms": 200, "election_max_ms": 400}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedCluster]:
    """Three nodes with proxies between them, for all tests of a module: each leaves them whole."""
    directory = tmp_path_factory.mktemp("proxied")
    with ProxiedCluster(directory, settings={"timing": TIMING}) as cluster:
        yield cluster.ready()
