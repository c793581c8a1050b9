"""Puts something around each method of a servicer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

#: Returns what serves a method in the place of what is given.
Wrap = Callable[[MethodDescriptor, Any], Any]


class Around:
    """Has the methods of a service, each of them wrapped."""

    def __init__(self, service: ServiceDescriptor, servicer: object, wrap: Wrap) -> None:
        for method in service.methods:
            setattr(self, method.name, wrap(method, getattr(servicer, method.name)))
