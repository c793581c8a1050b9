import pytest

from tests.support.connector.fleet import ConnectorCluster


@pytest.fixture
def cluster() -> ConnectorCluster:
    return ConnectorCluster()
