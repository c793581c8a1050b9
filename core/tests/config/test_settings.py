import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from quorate.config import ConfigError, ConfigProblem, Settings, load, section_fault

Loading = Callable[..., Settings]
Refusing = Callable[..., tuple[ConfigProblem, ...]]
Sections = Mapping[str, type[BaseModel] | None]

# text, then (line, key, a part of what is wrong, a part of what to do)
FAULTS: dict[str, tuple[str, list[tuple[int | None, str, str, str]]]] = {
    "unknown section": ("\n[nod]\n", [(2, "nod", "unknown section", "did you mean 'node'?")]),
    "plugin as a section": (
        "[greeting]\nloud = true\n",
        [(1, "greeting", "unknown section", "did you mean [plugins.greeting]?")],
    ),
    "unknown setting": (
        "[node]\nprot = 1\n",
        [(2, "node.prot", "unknown setting", "did you mean 'port'?")],
    ),
    "nothing like it": (
        "[groups.x]\nshards = 1\nzzz = 1\n",
        [
            (
                3,
                "groups.x.zzz",
                "unknown setting",
                "known are most_shards, replicas, shards, split_above_bytes, ",
            )
        ],
    ),
    "wrong type": (
        '[node]\n\nport = "7401"\n',
        [(3, "node.port", "must be a valid integer, not '7401'", "the default, 7401")],
    ),
    "a number is no truth": (
        "[tls]\ninsecure = 1\n",
        [(2, "tls.insecure", "must be a valid boolean, not 1", "the default, false")],
    ),
    "a truth is no number": (
        "[node]\nport = true\n",
        [(2, "node.port", "must be a valid integer, not true", "the default, 7401")],
    ),
    "a place that is no directory": (
        '[console]\nbackup_dir = "s3://acme/quorate"\n',
        [(2, "console.backup_dir", "must be a directory on this node", "schema")],
    ),
    "value for a section": ("timing = 3\n", [(1, "timing", "must be a table, not 3", "schema")]),
    "value for plugins": ("plugins = 3\n", [(1, "plugins", "must be a table, not 3", "schema")]),
    "out of range": (
        "[node]\nport = 70000\nhttp_port = 1\n",
        [(2, "node.port", "less than or equal to 65535, not 70000", "the default, 7401")],
    ),
    "no replicas": (
        "[groups.offset]\nreplicas = 0\n",
        [(2, "groups.offset.replicas", "greater than or equal to 1", "schema")],
    ),
    "group name": (
        "[groups.Offset]\nshards = 1\n",
        [(1, "groups.Offset", "must match pattern", "schema")],
    ),
    "too many shards": (
        "[groups.a]\nshards = 1025\n",
        [(2, "groups.a.shards", "less than or equal to 1024", "schema")],
    ),
    "member address": (
        '[cluster]\ninitial_members = { a = "h:1", b = "h" }\n',
        [(2, "cluster.initial_members.b", "must be host:port", "schema")],
    ),
    "members with one address": (
        '[cluster.initial_members]\na = "h:1"\nb = "h:1"\n',
        [(3, "cluster.initial_members.b", "a and b have the same address", "of its own")],
    ),
    "joined members with one address": (
        '[cluster.join]\na = "h:1"\nb = "h:1"\n',
        [(3, "cluster.join.b", "a and b have the same address", "of its own")],
    ),
    "founding and joining": (
        '[cluster]\ninitial_members = { a = "h:1" }\njoin = { b = "h:2" }\n',
        [(3, "cluster.join", "founds a cluster or joins one", "remove join")],
    ),
    "secret of a wrong type": (
        "[cluster]\ntoken = 12345\n",
        [(2, "cluster.token", "must be a valid string", "schema")],
    ),
    "election below a heartbeat": (
        "[timing]\nheartbeat_ms = 100\nelection_min_ms = 99\n",
        [(3, "timing.election_min_ms", "comes before the next heartbeat", "at least")],
    ),
    "heartbeat above the default election": (
        "[timing]\nheartbeat_ms = 501\n",
        [(2, "timing.heartbeat_ms", "comes before the next heartbeat", "at least")],
    ),
    "election range upside down": (
        "[timing]\nelection_min_ms = 1001\n",
        [(2, "timing.election_min_ms", "election_max_ms (1000) is below", "larger")],
    ),
    "command too small": (
        "[limits]\nvalue_bytes = 4194304\n",
        [(2, "limits.value_bytes", "cannot hold the longest key", "larger")],
    ),
    "message too small": (
        "[limits]\ngrpc_message_bytes = 4194303\n",
        [(2, "limits.grpc_message_bytes", "cannot hold the largest command", "larger")],
    ),
    "open address": (
        '[node]\nhost = "0.0.0.0"\n',
        [(2, "node.host", "can be reached from other machines", "tls.insecure = true")],
    ),
    "open address, beside other mistakes": (
        '[node]\nhost = "0.0.0.0"\n[timing]\nheartbeat_ms = 0\n[tls]\n',
        [
            (2, "node.host", "can be reached from other machines", "tls.insecure = true"),
            (4, "timing.heartbeat_ms", "greater than or equal to 1, not 0", "the default, 100"),
        ],
    ),
    "host with a port": (
        '[node]\nhost = "a:1"\n',
        [(2, "node.host", "without a port", "127.0.0.1")],
    ),
    "certificate without key": (
        '[tls]\ncert_file = "a.pem"\n',
        [(2, "tls.cert_file", "is set without key_file", "set key_file too")],
    ),
    "certificate without authority": (
        '[tls]\ncert_file = "a.pem"\nkey_file = "a.key"\n',
        [(2, "tls.cert_file", "is set without ca_file", "set ca_file too")],
    ),
    "key without certificate": (
        '[tls]\nkey_file = "a.pem"\n',
        [(2, "tls.key_file", "is set without cert_file", "set cert_file too")],
    ),
    "one port for both": (
        "[node]\nport = 9\nhttp_port = 9\n",
        [(3, "node.http_port", "cannot share port 9", "another")],
    ),
    "the port for other nodes taken by gRPC": (
        "[node]\nport = 9\npeer_port = 9\n",
        [(3, "node.peer_port", "port 9 is taken by port", "another")],
    ),
    "the port for other nodes taken by HTTP": (
        "[node]\nport = 9\npeer_port = 109\n",
        [(3, "node.peer_port", "port 109 is taken by http_port", "another")],
    ),
    "http port beyond the last": (
        "[node]\nport = 65500\n",
        [(2, "node.port", "follows at 65600", "up to 65435")],
    ),
    "plugin not installed": (
        '[plugins]\nenabled = [\n  "plain",\n  "greting",\n  "zzz",\n]\n',
        [
            (4, "plugins.enabled[1]", "no plugin 'greting' is installed", "did you mean 'gree"),
            (5, "plugins.enabled[2]", "no plugin 'zzz' is installed", "quorate plugin list"),
        ],
    ),
    "section of a plugin not installed": (
        "[plugins.zzz]\na = 1\n",
        [(1, "plugins.zzz", "no plugin 'zzz' is installed", "quorate plugin list")],
    ),
    "unknown setting of plugins": (
        '[plugins]\nenabeld = ["plain"]\n',
        [(2, "plugins.enabeld", "unknown setting", "did you mean 'enabled'?")],
    ),
    "settings for a plugin without any": (
        "[plugins.plain]\na = 1\n",
        [(1, "plugins.plain", "has no settings", "remove")],
    ),
    "enabled and retired": (
        '[plugins]\nenabled = ["plain"]\nretired = ["plain"]\n',
        [(3, "plugins.retired", "enabled and retired", "one of the two")],
    ),
    "named twice": (
        '[plugins]\nenabled = ["plain", "plain"]\n',
        [(2, "plugins.enabled", "'plain' is named twice", "once")],
    ),
    "plugin's own fault": (
        "[plugins.greeting]\nluod = true\npause_s = -1\npeer = { url = 1 }\n",
        [
            (2, "plugins.greeting.luod", "unknown setting", "did you mean 'loud'?"),
            (3, "plugins.greeting.pause_s", "greater than or equal to 0, not -1", "0.5"),
            (4, "plugins.greeting.peer.url", "must be a valid string, not 1", "http://"),
        ],
    ),
    "inside tables and arrays of a plugin": (
        "[plugins.greeting.peers.a]\nurll = 'x'\n"
        "[[plugins.greeting.fallbacks]]\n[[plugins.greeting.fallbacks]]\nretries = -1\n",
        [
            (2, "plugins.greeting.peers.a.urll", "unknown setting", "did you mean 'url'?"),
            (5, "plugins.greeting.fallbacks[1].retries", "equal to 0, not -1", "the default, 2"),
        ],
    ),
    "enabled plugin lacks a setting": (
        '[plugins]\nenabled = ["needy"]\n',
        [(1, "plugins.needy.license", "is required", "The text of the licence")],
    ),
    "configured plugin lacks a setting": (
        "[plugins.needy]\n",
        [(1, "plugins.needy.license", "is required", "The text of the licence")],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told_with_line_key_and_cure(name: str, refusing: Refusing) -> None:
    text, expected = FAULTS[name]
    problems = refusing(text)
    assert [(p.line, p.key) for p in problems] == [(line, key) for line, key, _, _ in expected]
    for problem, (_, _, what, fix) in zip(problems, expected, strict=True):
        assert what in problem.what
        assert fix in problem.fix
        assert "\n" not in str(problem)


def test_wrong_in_three_places_gets_one_message_listing_all_of_it(
    loading: Loading, tmp_path: Path
) -> None:
    text = '[node]\nport = "x"\n\n[tiiming]\n\n[plugins.greeting]\nloud = 3\n'
    with pytest.raises(ConfigError) as caught:
        loading(text)
    file = tmp_path / "quorate.toml"
    assert str(caught.value).splitlines() == [
        f"{file}:2: node.port: must be a valid integer, not 'x'; leave it out for the default, "
        "7401",
        f"{file}:4: tiiming: unknown section; did you mean 'timing'?",
        f"{file}:7: plugins.greeting.loud: must be a valid boolean, not 3; leave it out for the "
        "default, false",
    ]


def test_a_union_is_told_under_the_key_of_the_file(refusing: Refusing) -> None:
    problems = refusing("[plugins.greeting]\nlevel = 1.5\n")
    assert {(p.line, p.key) for p in problems} == {(2, "plugins.greeting.level")}


@pytest.mark.parametrize(
    "text",
    [
        "[cluster]\ntoken = ['hush']\n",
        "[plugins.greeting]\npassword = ['hush']\n",
        "[cluster]\ntokn = 'hush'\n",
        "[cluster]\ntoken = 4711\n",
        "[plugins.greeting]\npassword = 4711\n",
    ],
)
def test_secrets_are_not_told(text: str, refusing: Refusing) -> None:
    told = "".join(problem.what + problem.fix for problem in refusing(text))
    assert "hush" not in told
    assert "4711" not in told


@pytest.mark.parametrize(
    ("text", "environ", "key"),
    [
        ("[timing]\nheartbeat_ms = 1\n", {"TIMING__HEARTBEAT_MS": "x"}, "heartbeat_ms"),
        ("", {"TIMING__HEARTBEAT_MS": "700"}, "heartbeat_ms"),
        ("", {"TIMING__HEARTBEET_MS": "700"}, "heartbeet_ms"),
        ("", {"NODE__NAME": "5"}, "name"),
        ("", {"NODE__HOST": "0.0.0.0"}, "host"),
        ("", {"PLUGINS__ENABLED": '["zzz"]'}, "enabled[0]"),
        ("", {"PLUGINS__GREETING__LUOD": "true"}, "greeting.luod"),
        ("", {"NOD__PORT": "1"}, "nod"),
    ],
)
def test_an_override_that_fails_names_its_variable(
    text: str, environ: dict[str, str], key: str, refusing: Refusing
) -> None:
    [(name, value)] = environ.items()
    (problem,) = refusing(text, **{f"QUORATE__{name}": value})
    assert problem.variable == f"QUORATE__{name}"
    assert (problem.file, problem.line) == (None, None)
    assert problem.key.endswith(key)
    assert str(problem).startswith(f"QUORATE__{name}: ")


def test_a_number_that_should_be_a_word_is_to_be_quoted(refusing: Refusing) -> None:
    (problem,) = refusing("", QUORATE__CLUSTER__TOKEN="2024")
    assert problem.fix == "quote it twice: QUORATE__CLUSTER__TOKEN='\"...\"'"


def test_file_and_environment_are_told_together(refusing: Refusing) -> None:
    problems = refusing(
        "[node]\nx = 1\n", QUORATE__NODE__PORT="y", QUORATE__BAD="1", QUORATE__TLS__INSECURE="2"
    )
    assert [p.variable or p.line for p in problems] == [
        2,
        "QUORATE__BAD",
        "QUORATE__NODE__PORT",
        "QUORATE__TLS__INSECURE",
    ]


def test_an_override_cannot_hide_a_section_that_is_a_value(refusing: Refusing) -> None:
    (problem,) = refusing("timing = 3\n", QUORATE__TIMING__HEARTBEAT_MS="50")
    assert (problem.line, problem.key) == (1, "timing")


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        (b"[node]\nname = \n", "2:8", "is not TOML: invalid value"),
        (b"[node]\nport = 1\nport = 2\n", "3:9", "is not TOML: cannot overwrite a value"),
        (b"[node]\nx = [1,\n", "3", "is not TOML: invalid value"),
        (b"[node]\n# \xff\n", "2", "byte 0xff is not UTF-8"),
    ],
)
def test_text_that_is_no_toml_is_told_with_its_place(
    content: bytes, place: str, what: str, tmp_path: Path
) -> None:
    file = tmp_path / "quorate.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(file, {}, {})
    assert str(caught.value).startswith(f"{file}:{place}: {what}")
    assert len(caught.value.problems) == 1


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "quorate.toml"
    file.write_text("[node]\nport = 9\n", encoding="utf-8-sig")
    assert load(file, {}, {}).node.port == 9


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(path: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            load(path, {}, {})
        return str(caught.value).removeprefix(f"{path}: ")

    assert told(tmp_path / "none.toml").startswith("there is no such file; ")
    assert told(tmp_path).startswith("is a directory; ")
    denied = tmp_path / "denied.toml"
    denied.touch()

    def deny(path: Path) -> bytes:
        raise PermissionError(13, os.strerror(13), str(path))

    monkeypatch.setattr(Path, "read_bytes", deny)
    assert told(denied).startswith("cannot be read: permission denied; ")


def test_sections_are_found_by_plugin_and_by_model(loading: Loading, greeting: Any) -> None:
    settings = loading("[plugins.greeting]\nwords = ['a']\npause_s = 1\n")
    assert settings.plugin_section(greeting).words == ("a",)
    assert settings.plugin_sections["greeting"] is settings.plugin_section(greeting)
    with pytest.raises(LookupError, match="BaseModel"):
        settings.plugin_section(BaseModel)


def test_a_plugin_that_is_not_enabled_may_lack_a_setting(sections: Sections) -> None:
    settings = load(None, sections, {})
    assert set(settings.plugin_sections) == {"greeting"}
    environ = {"QUORATE__PLUGINS__NEEDY__LICENSE": "free"}
    assert set(load(None, sections, environ).plugin_sections) == {"greeting", "needy"}


def test_settings_do_not_change(loading: Loading, greeting: Any) -> None:
    settings = loading("[groups.a]\nshards = 1\n")
    with pytest.raises(ValidationError):
        settings.node = settings.node
    with pytest.raises(ValidationError):
        settings.node.port = 1
    with pytest.raises(TypeError):
        settings.groups["b"] = settings.groups["a"]  # type: ignore[index]
    with pytest.raises(TypeError):
        settings.plugin_sections["b"] = settings.node  # type: ignore[index]


def test_retired_plugins_need_not_be_installed(loading: Loading) -> None:
    assert loading('[plugins]\nretired = ["gone"]\n').plugins.retired == ("gone",)


@pytest.mark.parametrize(
    "extra", ["insecure = true", "cert_file = 'c'\nkey_file = 'k'\nca_file = 'a'"]
)
def test_an_open_address_needs_tls_or_a_word(extra: str, loading: Loading) -> None:
    settings = loading(f'[node]\nhost = "0.0.0.0"\n[tls]\n{extra}\n')
    assert settings.node.host == "0.0.0.0"


@pytest.mark.parametrize("name", ["enabled", "retired"])
def test_no_plugin_takes_the_name_of_a_setting(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        load(None, {name: None}, {})


def test_models_that_cannot_be_sections(greeting: Any) -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(frozen=True)

    class Thawed(BaseModel):
        model_config = ConfigDict(extra="forbid")

    class Mute(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        size: int = 1

    class Capital(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        size: int = Field(default=1, alias="maxSize", description="Size.")

    assert "extra" in (section_fault(Loose) or "")
    assert "frozen" in (section_fault(Thawed) or "")
    assert "size has no description" in (section_fault(Mute) or "")
    assert "maxSize" in (section_fault(Capital) or "")
    assert section_fault(greeting) is None
