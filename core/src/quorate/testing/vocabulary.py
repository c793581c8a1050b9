"""The descriptors of a plugin's protos, read from its generated code."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator

from google.protobuf.descriptor import FileDescriptor

from quorate.plugin.declared import Declared


def packages_of(declared: Declared) -> set[str]:
    """Return the proto packages of a plugin's commands, rows, queries and services.

    Packages of protobuf itself are left out: no plugin can break them.
    """
    messages = [
        *(command.message for command in declared.commands),
        *(family.row for family in declared.families if family.row is not None),
        *(query.message for query in declared.queries),
    ]
    named = {message.DESCRIPTOR.file.package for message in messages}
    named |= {service.full_name.rpartition(".")[0] for service in declared.services}
    return {package for package in named if not package.startswith("google.")}


def files_of(packages: Iterable[str]) -> Iterator[FileDescriptor]:
    """Yield the descriptors of all generated modules of these packages.

    A proto package is a Python package of the same name, or is named by a Python package with its
    code; imported files are not included.
    """
    for package in sorted(packages):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if module.name.endswith("_pb2"):
                yield importlib.import_module(f"{package}.{module.name}").DESCRIPTOR
