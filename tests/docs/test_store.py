"""The explanation of the store names what is stored."""

import re
from pathlib import Path

from quorate.storage.families import SYSTEM

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "store.md"
ROW = re.compile(r"^\| `(core\.\w+)` \| .+ \|$", re.MULTILINE)


def test_every_family_of_core_is_told() -> None:
    told = re.findall(
        r"^\| `(core\.\w+)` \| .+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert told == list(SYSTEM)
