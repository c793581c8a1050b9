"""Messages of a resource's own that no `.proto` file declares: the queries that only nodes ask."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


def query_of(package: str, verb: str, family: str, like: type[Message]) -> Any:
    """Return the message of a query on the rows of a family."""
    name = "".join(part.capitalize() for part in family.replace(".", "_").split("_"))
    return derived_message(package, f"{verb}{name}", like)


def derived_message(package: str, name: str, like: type[Message]) -> Any:
    """Return a message with a name of its own and the fields of another one.

    The host finds a query's group by the query's name, so each resource has its own.
    """
    pool = descriptor_pool.Default()
    full_name = f"{package}.{name}"
    try:
        return GetMessageClass(pool.FindMessageTypeByName(full_name))
    except KeyError:
        file = FileDescriptorProto(
            name=f"{package.replace('.', '/')}/{name}.derived.proto", package=package
        )
        file.syntax = "proto3"
        declared = file.message_type.add()
        like.DESCRIPTOR.CopyToProto(declared)
        declared.name = name
        pool.AddSerializedFile(file.SerializeToString())
        return GetMessageClass(pool.FindMessageTypeByName(full_name))
