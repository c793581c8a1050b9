"""How Hypothesis runs in every test of the workspace, and which inherited checks are not quick."""

import os

import pytest
from hypothesis import HealthCheck, settings

# gRPC reads it when it is imported first. Its handlers of a fork end the child now and then, which
# is Spark's Java where a test of the same process has used gRPC before.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# What Hypothesis draws is judged, never how fast.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slowest check of the kit, for every plugin but the pairs: it runs clusters."""
    for item in items:
        if item.name == "test_commands_survive_faults" and "TestKv" not in item.nodeid:
            item.add_marker(pytest.mark.ci)
