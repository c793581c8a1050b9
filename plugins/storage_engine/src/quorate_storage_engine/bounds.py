"""How much a query finds at the most."""

from typing import Final

#: The most that a list yields: a largest page, and one that tells that there are more.
LONGEST_LIST: Final = 1_001
#: What controllers find at a time, when they do not say how many.
FOUND: Final = 1_000
