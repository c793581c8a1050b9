"""What an update gives, and what it leads to, with messages that protobuf brings."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FieldOptions
from google.protobuf.field_mask_pb2 import FieldMask
from quorate.plugin import Invalid, Rejected
from quorate.plugin.advanced import Updates, updated
from quorate.v1.schema_pb2 import Schema, UpdateSchema
from quorate.v1.tenant_pb2 import Tenant, UpdateTenant

TENANTS = Updates(fixed=frozenset({"name"}))
#: A message with presence, and with a message within.
FIELDS = Updates(fixed=frozenset({"name"}))


def tenant() -> Tenant:
    return Tenant(name="a", id=7, description="old", limits={"topics": 1, "users": 2})


def test_without_a_mask_what_is_set_is_given() -> None:
    row = TENANTS.write(tenant(), UpdateTenant(name="b", limits={"users": 3}))

    assert (row.name, row.id, row.description, dict(row.limits)) == ("a", 7, "old", {"users": 3})


def test_with_a_mask_what_it_names_is_given() -> None:
    update = UpdateTenant(name="a", limits={"users": 3}, update_mask={"paths": ["description"]})

    row = TENANTS.write(tenant(), update)

    assert (row.description, dict(row.limits)) == ("", {"topics": 1, "users": 2})


def test_a_mask_beside_the_update_counts() -> None:
    row = TENANTS.write(tenant(), UpdateTenant(), FieldMask(paths=["limits"]))

    assert (row.description, dict(row.limits)) == ("old", {})


def test_a_field_with_presence_is_given_with_its_default() -> None:
    row = FieldDescriptorProto(name="a", number=5, json_name="a")

    FIELDS.write(row, FieldDescriptorProto(number=0))

    assert row == FieldDescriptorProto(name="a", number=0, json_name="a")


def test_fields_within_a_message_are_given_one_by_one() -> None:
    row = FieldDescriptorProto(options=FieldOptions(packed=True, lazy=True))
    update = FieldDescriptorProto(options=FieldOptions(deprecated=True))

    FIELDS.write(row, update)
    assert row.options == FieldOptions(packed=True, lazy=True, deprecated=True)
    FIELDS.write(row, FieldDescriptorProto(), FieldMask(paths=["options.packed"]))
    assert row.options == FieldOptions(lazy=True, deprecated=True)
    FIELDS.write(row, update, FieldMask(paths=["options"]))
    assert row.options == FieldOptions(deprecated=True)


@pytest.mark.parametrize("path", ["name", "update_mask", "", "nothing", "limits.x", "limits.x.y"])
def test_a_mask_names_what_can_be_changed(path: str) -> None:
    update = UpdateTenant(name="a", update_mask={"paths": ["description", path]})

    with pytest.raises(Invalid, match="may name description, limits") as refusal:
        TENANTS.check(update, "tenants[3].")

    assert refusal.value.field == "tenants[3].update_mask"


def test_of_a_whole_row_only_what_is_given_is_checked() -> None:
    schemas = Updates(fixed=frozenset({"tenant", "name"}))

    def whole(update: UpdateSchema, path: str) -> None:
        if not update.definition:
            raise Invalid(f"{path}definition", "must not be empty")

    schemas.check(UpdateSchema(description="new"), "it.", whole=whole)
    emptied = FieldMask(paths=["definition"])
    with pytest.raises(Invalid, match=r"it\.definition: must not be empty"):
        schemas.check(UpdateSchema(), "it.", whole=whole, mask=emptied)


def test_the_row_that_an_update_leads_to_is_checked() -> None:
    def refuse(row: Schema) -> None:
        raise Invalid("kind", "must be known")

    with pytest.raises(Rejected, match="INVALID_ARGUMENT: kind: must be known"):
        updated(Schema(), refuse)
