"""Bugs that can be switched on: one at the least for every rule that the simulation guards."""

from quorate.testing.sim.bugs import consensus, store
from quorate.testing.sim.bugs.catalogue import BUGS, Bug

__all__ = ["BUGS", "Bug", "consensus", "store"]
