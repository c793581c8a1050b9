"""The tables of the README are those of the code."""

import re
from pathlib import Path

import quorate_storage_engine
from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.metrics import METRICS

README = (Path(__file__).parents[1] / "README.md").read_text()
SOURCES = Path(quorate_storage_engine.__file__).parent
#: Refusals of what controllers saw too late: no client meets them.
INTERNAL = {"LEADER_LIVES", "FAILED_PRECONDITION"}


def test_every_reason_is_documented_and_every_documented_one_is_given() -> None:
    given = {
        code
        for source in SOURCES.rglob("*.py")
        for code in re.findall(r'Rejected\(\s*"([A-Z_]+)"', source.read_text())
    }
    documented = {
        code
        for row in re.findall(r"^\| (`[A-Z_`, ]+`) \|", README, re.MULTILINE)
        for code in re.findall(r"[A-Z_]+", row)
    }

    assert documented == given - INTERNAL


def test_every_setting_stands_with_its_default() -> None:
    for name, field in StorageEngineConfig.model_fields.items():
        assert f"| `{name}` | `{field.default}` |" in README


def test_every_metric_is_documented() -> None:
    for metric in METRICS:
        assert f"| `{metric.name}` | {metric.kind} |" in README
