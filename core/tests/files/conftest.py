"""A leader that evaluates and stores commands, as the tests of `apply` have it."""

from core.tests.apply.conftest import catalog, machine, new_machine

__all__ = ["catalog", "machine", "new_machine"]
