from dataclasses import replace

from google.protobuf.empty_pb2 import Empty
from quorate.plugin.catalog import Catalog
from quorate.testing.vocabulary import files_of, packages_of


def test_the_files_are_those_of_the_generated_modules(plugins_on_path: None) -> None:
    names = [file.name for file in files_of(["quorate.v1", "kit_sample.v1"])]
    assert names[0] == "kit_sample/v1/notes.proto"
    assert "quorate/v1/batch.proto" in names


def test_the_packages_are_those_of_everything_declared(catalog: Catalog) -> None:
    declared = catalog.declared["sample"]
    bare = replace(declared, all=())
    assert packages_of(bare) == set()
    for kept in ("commands", "families", "queries", "services"):
        assert packages_of(replace(bare, all=getattr(declared, kept))) == {"kit_sample.v1"}
    query = replace(declared.queries[0], message=Empty)
    assert packages_of(replace(bare, all=(query,))) == set()
