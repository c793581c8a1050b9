"""Server reflection: callers ask for the services and their messages, by either of its versions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, cast

from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha._async import ReflectionServicer

_ALPHA: Final = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
_FILE: Final = "grpc/reflection/v1/reflection.proto"


def services_of(names: Iterable[str]) -> dict[ServiceDescriptor, object]:
    """Return the servicer of each version of reflection, which lists these services and itself."""
    stable = STABLE.services_by_name["ServerReflection"]
    servicer = _Reflection([*names, _ALPHA.full_name, stable.full_name])
    return {_ALPHA: servicer, stable: _Stable(servicer)}


class _Reflection(ReflectionServicer):  # type: ignore[misc]  # grpcio has no types of it
    """Finds methods and fields too, which the pool does not find by their symbols."""

    def _file_containing_symbol(self, request: Message, fully_qualified_name: str) -> Any:
        pool = descriptor_pool.Default()
        for find in (pool.FindMethodByName, pool.FindFieldByName):
            try:
                found: Any = find(fully_qualified_name)
            except KeyError:
                continue
            holder = getattr(found, "containing_service", None) or found.containing_type
            fully_qualified_name = holder.full_name
            break
        return super()._file_containing_symbol(request, fully_qualified_name)


class _Stable:
    """Version 1, which has the messages of v1alpha in another package."""

    def __init__(self, alpha: _Reflection) -> None:
        self._alpha: Final = alpha

    def ServerReflectionInfo(
        self, requests: AsyncIterator[Message], context: object
    ) -> AsyncIterator[Message]:
        """Answer each request."""

        async def read() -> AsyncIterator[Message]:
            async for each in requests:
                yield reflection_pb2.ServerReflectionRequest.FromString(each.SerializeToString())

        return cast("AsyncIterator[Message]", self._alpha.ServerReflectionInfo(read(), context))


def _stable() -> FileDescriptor:
    """Return the file of version 1; grpcio-reflection has none."""
    pool = descriptor_pool.Default()
    try:
        return pool.FindFileByName(_FILE)
    except KeyError:
        file = FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(file)
    # The version stands in the names of the package and of its types.
    file = text_format.Parse(str(file).replace("v1alpha", "v1"), FileDescriptorProto())
    file.name = _FILE
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindFileByName(_FILE)


#: The file of version 1, which describes itself like any other.
STABLE: Final = _stable()
