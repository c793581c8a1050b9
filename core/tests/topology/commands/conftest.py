"""A leader that evaluates and stores commands, as the tests of `apply` have it."""

from collections.abc import Callable

import pytest
from quorate.plugin.shard_id import METADATA

from core.tests.apply.conftest import Machine, catalog, machine, new_machine

__all__ = ["catalog", "machine", "new_machine"]


@pytest.fixture
def first(new_machine: Callable[..., Machine]) -> Machine:
    """The first shard of a cluster."""
    return new_machine(shard=METADATA)
