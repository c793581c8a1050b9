from asyncio import run
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from quorate.builtin.resource.plugin import LARGEST_VALUE, LONGEST_PATH, MOST_PATHS
from quorate.plugin import Invalid, Rejected
from quorate.plugin.checking import LARGEST_PAGE, LONGEST_KEY
from quorate.testing import MemoryNode
from quorate.v1 import resource_pb2
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    GetResource,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
    StoredResource,
)

LONG = "a" * (LONGEST_PATH + 1)
LARGE = bytes(LARGEST_VALUE + 1)


@pytest.fixture
def service(node: MemoryNode) -> Any:
    return node.servicer("quorate.v1.ResourceService")


def test_what_is_put_is_read_until_it_is_deleted(service: Any) -> None:
    put = run(service.Put(PutResource(path="settings/mqtt", value=b"1"), None))

    assert run(service.Get(GetResource(path="settings/mqtt"), None)) == put
    assert put.resource.updated_at_ms == 1_000
    run(service.Delete(DeleteResource(path="settings/mqtt"), None))
    with pytest.raises(Rejected, match="NOT_FOUND: there is no resource settings/mqtt"):
        run(service.Get(GetResource(path="settings/mqtt"), None))


def test_the_revision_that_is_read_is_the_one_to_write_over(service: Any) -> None:
    run(service.Put(PutResource(path="a", value=b"1"), None))
    read = run(service.Get(GetResource(path="a"), None)).revision

    run(service.Put(PutResource(path="a", value=b"2", expected_revision=read), None))

    with pytest.raises(Rejected, match="REVISION_MISMATCH"):
        run(service.Put(PutResource(path="a", value=b"3", expected_revision=read), None))
    assert run(service.Get(GetResource(path="a"), None)).resource.value == b"2"


def test_batches_answer_each_item(service: Any) -> None:
    puts = [PutResource(path=path, value=path.encode()) for path in ("b", "a")]
    reply = run(service.PutBatch(PutResources(puts=puts), None))
    stored = [StoredResource.FromString(each) for each in reply.replies]

    found = run(service.GetBatch(GetResources(paths=["b", "none", "a"]), None))
    assert list(found.resources) == stored

    deletions = [DeleteResource(path=path) for path in ("a", "none", "b")]
    deleted = run(service.DeleteBatch(DeleteResources(deletions=deletions), None))
    assert [(each.item, each.code) for each in deleted.refusals] == [(1, "NOT_FOUND")]
    assert not run(service.List(ListResources(), None)).resources


def test_a_list_goes_on_behind_its_last_page(service: Any) -> None:
    puts = [PutResource(path=f"settings/{name}") for name in "abc"]
    run(service.PutBatch(PutResources(puts=puts), None))

    first = run(service.List(ListResources(prefix="settings/", page_size=2), None))
    token = first.next_page_token
    rest = run(service.List(ListResources(prefix="settings/", page_token=token), None))

    listed = [stored.resource.path for page in (first, rest) for stored in page.resources]
    assert listed == ["settings/a", "settings/b", "settings/c"]
    assert rest.next_page_token == b""


def test_the_largest_that_is_allowed_is_taken(service: Any) -> None:
    path = "a" * LONGEST_PATH
    value = bytes(LARGEST_VALUE)

    run(service.Put(PutResource(path=path, value=value), None))

    found = run(service.GetBatch(GetResources(paths=[path] * MOST_PATHS), None))
    assert {stored.resource.value for stored in found.resources} == {value}
    assert len(run(service.List(ListResources(page_size=LARGEST_PAGE), None)).resources) == 1


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("Put", PutResource(), "path"),
        ("Put", PutResource(path=LONG), "path"),
        ("Put", PutResource(path="/a"), "path"),
        ("Put", PutResource(path="a/"), "path"),
        ("Put", PutResource(path="a//b"), "path"),
        ("Put", PutResource(path="a b"), "path"),
        ("Put", PutResource(path="a\n"), "path"),
        ("Put", PutResource(path="a", value=LARGE), "value"),
        ("Get", GetResource(), "path"),
        ("Get", GetResource(path=LONG), "path"),
        ("GetBatch", GetResources(paths=["a", ""]), "paths[1]"),
        ("GetBatch", GetResources(paths=["a"] * (MOST_PATHS + 1)), "paths"),
        ("Delete", DeleteResource(), "path"),
        ("Delete", DeleteResource(path=LONG), "path"),
        ("Delete", DeleteResource(path="a", expected_revision=0), "expected_revision"),
        ("List", ListResources(prefix="a" * (LONGEST_KEY + 1)), "prefix"),
        ("List", ListResources(page_token=bytes(LONGEST_KEY + 1)), "page_token"),
        ("List", ListResources(page_size=LARGEST_PAGE + 1), "page_size"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_bad_input_is_refused_with_its_field(
    service: Any, node: MemoryNode, method: str, request_: Message, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        run(getattr(service, method)(request_, None))

    assert refusal.value.field == field
    assert node.proposals == []


def test_what_is_wrong_with_an_item_is_said_in_its_place(service: Any, node: MemoryNode) -> None:
    puts = [PutResource(path="a"), PutResource(), PutResource(path="b", value=LARGE)]
    put = run(service.PutBatch(PutResources(puts=puts), None))
    deleted = run(service.DeleteBatch(DeleteResources(deletions=[DeleteResource()]), None))

    assert [(each.item, each.code) for each in put.refusals] == [
        (1, "INVALID_ARGUMENT"),
        (2, "INVALID_ARGUMENT"),
    ]
    assert [each.message.partition(":")[0] for each in put.refusals] == [
        "puts[1].path",
        "puts[2].value",
    ]
    assert deleted.refusals[0].message.startswith("deletions[0].path:")
    assert len(node.proposals) == 1


METHODS = resource_pb2.DESCRIPTOR.services_by_name["ResourceService"].methods
#: Field 1 as a number, where each of these messages has text or messages.
NUMBER_FOR_TEXT = b"\x08\x01"
#: Field 1 as bytes that are neither text nor a message.
NO_TEXT = b"\x0a\x02\xff\xff"


@pytest.mark.parametrize(
    "method",
    # Of a batch nothing is left, which is right.
    [each for each in METHODS if not each.name.endswith("Batch")],
    ids=lambda method: str(method.name),
)
def test_the_wrong_type_is_refused(service: Any, node: MemoryNode, method: Any) -> None:
    kind = getattr(resource_pb2, method.input_type.name)
    with pytest.raises(DecodeError):
        kind.FromString(NO_TEXT)
    request = kind.FromString(NUMBER_FOR_TEXT)

    if method.name == "List":
        # What it does not know is as if it were not there, and no prefix lists everything.
        assert not run(service.List(request, None)).resources
    else:
        with pytest.raises(Invalid) as refusal:
            run(getattr(service, method.name)(request, None))
        assert refusal.value.field == kind.DESCRIPTOR.fields_by_number[1].name
    assert node.proposals == []
