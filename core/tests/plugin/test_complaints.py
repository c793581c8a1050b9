"""A task that fails again and again says each reason once."""

from __future__ import annotations

import logging

import pytest
from quorate.plugin.advanced import Complaints, NotProposedError


def test_a_reason_is_logged_once_until_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    complaints = Complaints(logging.getLogger("follower"), "cannot follow")
    refusal, bug = NotProposedError("no leader"), ValueError("bug")
    for error, worked in ((refusal, False), (refusal, False), (bug, False), (refusal, False)):
        complaints.complain(error, worked=worked)
    complaints.complain(refusal, worked=True)
    said = [(each.levelname, each.getMessage(), bool(each.exc_info)) for each in caplog.records]
    passing = ("INFO", "cannot follow: NotProposedError: no leader", False)
    assert said == [
        passing,
        ("WARNING", "cannot follow: ValueError: bug", True),
        passing,
        passing,
    ]
