import pytest
from quorate_connector.testing.fleet import ConnectorCluster


@pytest.fixture
def cluster() -> ConnectorCluster:
    return ConnectorCluster()
