"""A node's starts are counted, and those of others remembered."""

from __future__ import annotations

import shutil
from pathlib import Path

from quorate.consensus.messages import Peer
from quorate.consensus.peer.wire import Start
from quorate.node.starts import Starts

N1, NEW_N1 = Peer("n1", 1), Peer("n1", 2)


def begun(directory: Path) -> Start:
    starts = Starts(directory)
    starts.begin()
    return starts.own


def test_each_start_has_the_next_number_and_a_mark_of_its_own(tmp_path: Path) -> None:
    first, second = begun(tmp_path), begun(tmp_path)
    assert (first.number, second.number) == (1, 2)
    assert first.mark != second.mark


def test_an_older_copy_is_known_by_those_who_met_a_later_start(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    begun(theirs)
    shutil.copytree(theirs, tmp_path / "copy")

    assert Starts(mine).is_newest(N1, second := begun(theirs))
    # Each connection shows the same start, and another life of this node knows it as well.
    assert Starts(mine).is_newest(N1, second)
    again = begun(tmp_path / "copy")
    assert again.number == second.number
    assert not Starts(mine).is_newest(N1, again)
    assert Starts(mine).is_newest(N1, second)
    # As another replica it has nothing to remember.
    assert Starts(mine).is_newest(NEW_N1, again)
    assert Starts(mine).is_newest(NEW_N1, begun(tmp_path / "copy"))


def test_a_node_of_a_release_that_counts_no_starts_is_let_in(tmp_path: Path) -> None:
    starts = Starts(tmp_path)
    assert starts.is_newest(N1, Start(3, 3))
    assert starts.is_newest(N1, Start())
    assert not starts.is_newest(N1, Start(2, 2))


def test_a_file_that_cannot_be_read_is_begun_anew(tmp_path: Path) -> None:
    begun(tmp_path)
    (tmp_path / "starts.json").write_text('{"own": [')
    assert begun(tmp_path).number == 1
