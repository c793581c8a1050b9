"""The reference of what callers need tells every role and every method."""

from __future__ import annotations

from quorate.builtin.auth.roles import BUILT_IN

from tests.support.pages import page


def test_every_built_in_role_is_told() -> None:
    text = page("reference/auth")
    assert all(f"| `{role}` |" in text for role in BUILT_IN)
    assert "not declared |" not in text


def test_a_method_is_told_with_what_its_caller_needs() -> None:
    services = page("reference/auth").split("\n## ")
    [kv] = [each for each in services if each.startswith("quorate.v1.KvService\n")]
    assert "| `Get` | read | `kv` |  | `key` |  |" in kv
