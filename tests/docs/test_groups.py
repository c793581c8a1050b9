"""The explanation of groups tells every way in which a write or a read can fail."""

import inspect
import re
from pathlib import Path

from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.shards import refusals
from quorate.shards.refusals import FencedError, NotAdmittedError

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "groups.md"
ROW = re.compile(r"^\| `(\w+Error)` \| `(\w+)` \| .+ \|$", re.MULTILINE)


def test_every_error_is_told_with_its_status() -> None:
    fenced = FencedError(ShardId("metadata", 0), term=2, made_in=1)
    declared: dict[str, str] = {
        name: getattr(fenced if each is FencedError else each, "code")  # noqa: B009
        for name, each in inspect.getmembers(refusals, inspect.isclass)
        # What a command is not admitted for has a code of its own.
        if issubclass(each, Exception) and each not in {Invalid, NotAdmittedError, Rejected}
    }

    assert dict(ROW.findall(PAGE.read_text(encoding="utf-8"))) == declared
