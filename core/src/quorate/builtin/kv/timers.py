"""The timer of the pairs with a time to live."""

from typing import Final

from quorate.builtin.kv.families import GROUP, TTL
from quorate.plugin import Timer
from quorate.v1.kv_pb2 import ExpirePairs

#: A touch renews it: a new leader first waits for those that it has not seen.
EXPIRY: Final = Timer(name=TTL, group=GROUP, due=lambda keys: ExpirePairs(keys=keys), liveness=True)
