import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, Field
from quorate.config import Settings, load, render, schema

Loading = Callable[..., Settings]
Sections = Mapping[str, type[BaseModel] | None]


class Notes(BaseModel):
    """Values of every shape."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(default="", description="Any text.")
    count: int = Field(default=0, description="Any count.")
    ratio: float = Field(default=0.0, description="Any ratio.")
    names: list[str] = Field(default_factory=list, description="Any names.")
    table: dict[str, int | bool | str] = Field(default_factory=dict, description="Any table.")


NOTES: Sections = {"notes": Notes}


def test_defaults_load_back_equal(loading: Loading, sections: Sections) -> None:
    assert loading(render(load(None, sections, {}))) == load(None, sections, {})


def test_every_setting_is_shown_with_its_description(sections: Sections) -> None:
    core = load(None, sections, {})
    text = " ".join(render(core).replace("\n# ", " ").split())
    for section in (core.node, core.cluster, core.storage, core.timing, core.limits, core.tls):
        for name, field in type(section).model_fields.items():
            assert f"{field.description} " in text
            assert f" {name} " in text


def test_settings_in_effect_load_back_equal(loading: Loading) -> None:
    settings = loading(
        '[node]\nhost = "0.0.0.0"\nport = 9\n[tls]\ninsecure = true\n[groups."a.b"]\nshards = 3\n'
        '[cluster.initial_members]\na = "h:1"\n[plugins]\nenabled = ["greeting"]\n'
        '[plugins.greeting.peers.x]\nurl = "u"\n[[plugins.greeting.fallbacks]]\nretries = 7\n'
    )
    assert loading(render(settings)) == settings


def test_secrets_are_not_shown(loading: Loading) -> None:
    text = render(loading('[cluster]\ntoken = "hush"\n[plugins.greeting]\npassword = "hush"\n'))
    assert "hush" not in text
    assert "# token is a secret" in text
    assert "# password is a secret" in text
    assert "token" not in tomllib.loads(text)["cluster"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.fixed_dictionaries(
        {
            "text": TEXT,
            "count": st.integers(-(2**63), 2**63 - 1),
            "ratio": st.floats(allow_nan=False),
            "names": st.lists(TEXT, max_size=3),
            "table": st.dictionaries(TEXT, st.integers(-9, 9) | st.booleans() | TEXT, max_size=3),
        }
    )
)
def test_any_values_load_back_equal(values: dict[str, Any]) -> None:
    settings = load(None, {}, {}).model_copy(update={"plugin_sections": {"notes": Notes(**values)}})
    with TemporaryDirectory() as folder:
        file = Path(folder) / "quorate.toml"
        file.write_text(render(settings), encoding="utf-8", newline="")
        assert load(file, NOTES, {}) == settings


def test_every_comment_begins_at_the_same_column() -> None:
    assert "\n#  " not in render(load(None, {}, {}))


def test_schema_describes_the_whole_file(sections: Sections) -> None:
    document = schema(sections)
    plugins = document["$defs"]["PluginsSection"]["properties"]
    assert set(document["properties"]) == {
        "node", "cluster", "groups", "storage", "timing", "limits", "tls", "audit", "auth",
        "plugins", "scrub", "canary", "recorder", "traces", "console", "rpc",
    }  # fmt: skip
    assert set(plugins) == {"enabled", "retired", "greeting", "needy", "plain"}
    assert document["additionalProperties"] is False
    greeting = document["$defs"][plugins["greeting"]["$ref"].removeprefix("#/$defs/")]
    assert greeting["properties"]["pause_s"]["description"] == "Pause between two, in seconds."
    assert "quorate" not in str(document["$defs"]["ClusterSection"]["properties"]["token"])


@pytest.mark.parametrize("sections_of", [{}, NOTES])
def test_every_reference_of_the_schema_leads_somewhere(sections_of: Sections) -> None:
    document = schema(sections_of)

    def references(value: object) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    assert {r.removeprefix("#/$defs/") for r in references(document)} == set(document["$defs"])
