from __future__ import annotations

from quorate.storage import families


def test_every_family_of_core_is_listed_once_and_carries_its_prefix() -> None:
    named = [
        value for name, value in vars(families).items() if name.isupper() and isinstance(value, str)
    ]

    assert sorted(named) == list(families.SYSTEM)
    assert len(set(named)) == len(named)
    assert all(family.startswith("core.") for family in named)
