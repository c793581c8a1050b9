from __future__ import annotations

import hashlib
import inspect
import json
from importlib.metadata import version
from pathlib import Path
from types import FunctionType

import pytest
from pysyncobj import SyncObj
from quorate.consensus.inherited import KEPT, Inherited, NotOfferedError, mangled
from quorate.consensus.replica import Replica

GOLDEN = Path(__file__).parent / "golden" / "pysyncobj.json"
PREFIX = "_SyncObj__"


def theirs() -> dict[str, FunctionType]:
    """Every method and property of PySyncObj, under the name that its source gives it."""
    found = {}
    for name, value in vars(SyncObj).items():
        function = value.fget if isinstance(value, property) else value
        if isinstance(function, FunctionType):
            found[name.replace(PREFIX, "__", 1)] = function
    return found


def replaced() -> set[str]:
    ours = [method for kind in Replica.__mro__[:-2] for method in vars(kind).values()]
    return {method.replaces for method in ours if hasattr(method, "replaces")}


CLOSED = theirs().keys() - set(KEPT) - replaced()


def test_what_is_kept_and_what_is_replaced_are_methods_of_pysyncobj() -> None:
    assert set(KEPT) | replaced() <= theirs().keys()
    assert not set(KEPT) & replaced()


def test_the_sources_that_we_keep_or_replace_are_the_ones_that_were_read() -> None:
    hashes = {
        name: hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
        for name, function in theirs().items()
        if name not in CLOSED
    }

    assert version("pysyncobj") == "0.3.17"
    assert hashes == json.loads(GOLDEN.read_text()), (
        "PySyncObj changed under us: read what changed, mend the replica, then write the golden"
    )


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_what_is_closed_says_so(name: str) -> None:
    replica = Replica.__new__(Replica)

    with pytest.raises(NotOfferedError, match="consensus"):
        getattr(replica, mangled(name))()


def test_pysyncobj_reaches_the_replacement_of_a_subclass() -> None:
    class Loud(Replica):
        def draw_timeout(self) -> float:
            return 42.0

    assert getattr(Loud.__new__(Loud), mangled("__generateRaftTimeout"))() == 42.0
    assert issubclass(Replica, Inherited)
