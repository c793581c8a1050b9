"""The reference of row classes leaves nothing out."""

import inspect

from quorate.plugin import rows

from tests.support.pages import page


def test_every_name_and_option_is_explained() -> None:
    text = page("reference/row-classes")
    options = list(inspect.signature(rows.Plugin.resource).parameters)[2:]
    methods = [name for name in vars(rows.Plugin) if name[0] not in "_q" and name != "resource_of"]

    missing = [name for name in rows.__all__ if f"{name}" not in text]
    missing += [name for name in options if f"| `{name}` |" not in text]
    missing += [name for name in methods if f"app.{name}" not in text]
    assert missing == []
