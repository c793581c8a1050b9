from collections.abc import Iterator

import pytest

from tests.support.storage_engine.fleet import EngineCluster
from tests.support.storage_engine.indexes import differences


@pytest.fixture
def cluster() -> Iterator[EngineCluster]:
    """Give a cluster in memory; after the test its indexes and loads must fit its segments."""
    cluster = EngineCluster()
    yield cluster
    assert differences(cluster) == []
