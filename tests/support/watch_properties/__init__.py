"""Judges what watchers were given by what writers were told: the nine properties of a watch."""

from tests.support.watch_properties.judging import Breach, judge
from tests.support.watch_properties.seen import Change, Listed, Part, Response, Write

__all__ = ["Breach", "Change", "Listed", "Part", "Response", "Write", "judge"]
