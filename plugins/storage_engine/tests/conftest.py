from collections.abc import Iterator

import pytest
from quorate_storage_engine.testing.fleet import EngineCluster
from quorate_storage_engine.testing.indexes import differences


@pytest.fixture
def cluster() -> Iterator[EngineCluster]:
    """Give a cluster in memory; after the test its indexes and loads must fit its segments."""
    cluster = EngineCluster()
    yield cluster
    assert differences(cluster) == []
