"""Gaps 8 and 18: nothing is unpickled, and time, chance and order come from the outside."""

from __future__ import annotations

import ast
import random
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pysyncobj.syncobj
import pytest
from quorate import consensus
from quorate.consensus.inherited import NotOfferedError, Outbox, mangled
from quorate.consensus.journal import Position
from quorate.consensus.messages import HeartbeatReply, Message, Peer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from core.tests.consensus.conftest import Group

FOLDER = Path(consensus.__path__[0])
MODULES = sorted(FOLDER.rglob("*.py"))


def imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def live_through(group: Group) -> list[Message]:
    """Elect, replicate, change members, install a snapshot, hand over; return what was said."""
    leader = group.elect("a")
    group.isolate("c")
    for number in range(5):
        leader.propose(b"%d" % number)
    group.settle()
    leader.compact_to(leader.applied)
    group.cut.clear()
    leader.bulk_remade("c")
    group.settle()
    assert group.snapshots_needed
    group.replicas["c"].snapshot_installed(Position(leader.applied, 1), group.first)
    group.add("d")
    leader.change_membership(group.configuration("abc", "d"))
    group.settle()
    leader.transfer("b")
    group.advance(2)
    group.replicas["c"].read_index(1)
    group.isolate("b")
    group.advance(5)
    assert group.leader.me.node in "ac"
    return group.sent


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_module_imports_pickle(module: Path) -> None:
    names = {part for name in imported(module) for part in name.split(".")}

    assert names.isdisjoint({"pickle", "cPickle", "marshal", "shelve", "dill"})


def test_pysyncobj_unpickles_nothing(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("something was pickled or unpickled")

    for name in ("loads", "load", "dumps", "dump"):
        monkeypatch.setattr(f"pysyncobj.pickle.{name}", refuse)
        monkeypatch.setattr(f"pickle.{name}", refuse)
    live_through(group)

    assert group.stores["b"].payloads == (b"0", b"1", b"2", b"3", b"4")


@pytest.mark.parametrize("module", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_only_types_of_time_and_chance_are_imported(module: Path) -> None:
    tree = ast.parse(module.read_text())
    used = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith(("random.", "time."))
    }

    assert used <= {"random.Random"}
    assert imported(module).isdisjoint({"time", "datetime", "secrets", "uuid", "os"})


def test_a_replica_asks_no_clock_and_no_chance_but_its_own(
    group: Group, new_group: Callable[..., Group], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = live_through(group)
    here = threading.get_ident()

    def refuse(module: ModuleType, name: str) -> None:
        real = getattr(module, name)

        def refused(*given: Any) -> Any:
            # Threads that other tests left behind may look.
            assert threading.get_ident() != here, f"a replica asked {module.__name__}.{name}"
            return real(*given)

        monkeypatch.setattr(module, name, refused)

    # PySyncObj's constructor reads the time into what is then replaced: any number will do.
    monkeypatch.setattr(pysyncobj.syncobj, "monotonicTime", lambda: 1e12)
    for name in ("time", "monotonic", "perf_counter"):
        refuse(time, name)
    for name in ("random", "uniform", "randint", "getrandbits", "choice"):
        refuse(random, name)
    after = live_through(new_group())

    assert after == before


def test_loops_run_in_the_order_of_the_nodes(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("cbeda")
    leader = group.elect("c")
    group.wire.clear()
    leader.propose(b"one")
    told = [message.target.node for message in group.turn("c")]
    assert told == sorted(told) == ["a", "b", "d", "e"]

    assert [peer.node for peer in group.first.voters] == list("abcde")


def test_members_of_pysyncobj_are_in_no_loop_of_ours() -> None:
    """Its sets of nodes iterate by hash: nothing of consensus may ask for them."""
    for module in MODULES:
        text = module.read_text()
        assert "otherNodes" not in text or module.stem == "inherited"


def test_messages_leave_in_their_order_when_what_they_promise_is_durable() -> None:
    told = [
        Message(Peer("a", 1), Peer("b", 1), 1, 1, HeartbeatReply(number, 0)) for number in range(4)
    ]
    outbox = Outbox()
    for needs, one in zip((3, 0, 2, 3), told, strict=True):
        outbox.hold(one, needs)

    assert outbox.release(1) == [told[1]]
    assert outbox.release(2) == [told[2]]
    assert outbox.release(9) == [told[0], told[3]]
    assert outbox.release(9) == []
    assert outbox.ready


def test_nothing_of_pysyncobj_runs_behind_our_back(group: Group) -> None:
    replica = group.replicas["a"]

    with pytest.raises(NotOfferedError):
        getattr(replica, mangled("__loadDumpFile"))(False)
    assert {node.id for node in replica.otherNodes} == {"b", "c"}
