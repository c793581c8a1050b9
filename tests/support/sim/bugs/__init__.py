"""Bugs that can be switched on: one at the least for every rule that the simulation guards."""

from tests.support.sim.bugs import consensus, merges, splits, store
from tests.support.sim.bugs.catalogue import BUGS, Bug

__all__ = ["BUGS", "Bug", "consensus", "merges", "splits", "store"]
