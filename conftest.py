"""How Hypothesis runs in every test of the workspace, and which inherited checks are not quick."""

import pytest
from hypothesis import HealthCheck, settings

# What Hypothesis draws is judged, never how fast.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slowest check of the kit, for every plugin but the pairs: it runs clusters."""
    for item in items:
        if item.name == "test_commands_survive_faults" and "TestKv" not in item.nodeid:
            item.add_marker(pytest.mark.ci)
