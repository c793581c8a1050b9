"""Which tests of the pages run when."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples that need a cluster: what they show has its quick tests elsewhere."""
    for item in items:
        if item.path.is_relative_to(HERE) and "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.ci)
