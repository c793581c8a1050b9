from __future__ import annotations

from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

if TYPE_CHECKING:
    from tests.packaging.conftest import Distribution

pytestmark = pytest.mark.ci


def test_versions_are_in_lockstep(distributions: dict[str, Distribution]) -> None:
    assert {d.version for d in distributions.values()} == {distributions["quorate"].version}


def test_a_wheel_holds_types_and_licence_and_no_tests(
    distributions: dict[str, Distribution],
) -> None:
    for name, distribution in distributions.items():
        with ZipFile(distribution.wheel) as wheel:
            names = wheel.namelist()
            [metadata_name] = [n for n in names if n.endswith(".dist-info/METADATA")]
            metadata = Metadata.from_email(wheel.read(metadata_name))
        package = distribution.name.replace("-", "_")
        assert f"{package}/py.typed" in names
        assert metadata.license_expression == "Apache-2.0"
        tops = {n.split("/")[0] for n in names}
        # By a package of such a name Spark finds the data source.
        for_spark = {"pyspark_quorate"} if package == "quorate_spark" else set()
        assert tops == {package, metadata_name.split("/")[0]} | for_spark
        # The kit of core is for authors; what a plugin of ours is tested with is in tests/support.
        assert not [n for n in names if n.startswith(f"{package}/testing/") and name != "quorate"]


def test_generated_code_travels_with_its_source_and_types(
    distributions: dict[str, Distribution],
) -> None:
    for distribution in distributions.values():
        with ZipFile(distribution.wheel) as wheel:
            names = set(wheel.namelist())
        stems = {n.removesuffix("_pb2.py") for n in names if n.endswith("_pb2.py")}
        sources = distribution.source / "src"
        # A plugin that only offers something to another one has none.
        protos = {str(each.relative_to(sources)) for each in sources.rglob("*.proto")}
        assert {f"{stem}.proto" for stem in stems} == protos
        missing = {f"{s}.proto" for s in stems} | {f"{s}_pb2.pyi" for s in stems}
        assert missing - names == set()


def test_a_plugin_depends_on_the_base_install_of_one_minor(
    distributions: dict[str, Distribution],
) -> None:
    for name, distribution in distributions.items():
        if name == "quorate":
            continue
        with ZipFile(distribution.wheel) as wheel:
            [metadata_name] = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
            requirements = Metadata.from_email(wheel.read(metadata_name)).requires_dist or []
        [core] = [r for r in requirements if r.name == "quorate" and r.marker is None]
        assert core.extras == set()
        assert {s.operator for s in core.specifier} == {">=", "<"}
