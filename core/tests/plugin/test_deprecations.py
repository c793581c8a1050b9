from __future__ import annotations

import pytest
from quorate.plugin.advanced import still_due
from quorate.plugin.deprecations import Deprecation, deprecated, deprecation_of


@deprecated("since 3.9: write new(number)")
def old(number: int, *, twice: bool = False) -> int:
    """Return a number."""
    return number * 2 if twice else number


def test_what_is_deprecated_works_and_warns_at_its_use() -> None:
    with pytest.warns(DeprecationWarning, match=r"^old is deprecated since 3.9: write new") as told:
        assert old(4, twice=True) == 8  # type: ignore[deprecated]

    assert told[0].filename == __file__
    assert old.__doc__ == "Return a number."  # type: ignore[deprecated]


def test_it_works_in_its_release_and_in_the_next_one() -> None:
    known = deprecation_of(old)  # type: ignore[deprecated]
    assert known == Deprecation("3.9", "3.11", "write new(number)")
    assert deprecation_of(still_due) is None
