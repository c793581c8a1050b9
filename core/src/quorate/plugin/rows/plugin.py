"""A plugin as one object that holds its declarations, and answers the host's hooks."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from quorate.plugin.declarations import ConfigSection, Controller, RaftGroup
from quorate.plugin.markers import hookimpl
from quorate.plugin.node import NodeApi, ShardRef
from quorate.plugin.resource.binding import DERIVED
from quorate.plugin.rows.row import Row, VerbOf, camel
from quorate.plugin.rows.shapes import (
    Field,
    Misdeclared,
    parameters_of,
    place_of,
    shape_of,
)
from quorate.plugin.rows.types import Role
from quorate.v1.tenant_pb2 import Tenant

if TYPE_CHECKING:
    from pydantic import BaseModel

    from quorate.plugin.resource.declaration import Resource

R = TypeVar("R", bound=Row)
Run = Callable[[NodeApi, ShardRef], Any]
Lifespan = Callable[[NodeApi], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class RowResource:
    """A row class as a resource of a plugin."""

    plugin: str
    #: The last word of its family: the plural of what a row is.
    plural: str
    cls: type[Row]
    #: The class of the rows that its rows belong to; `Tenant`, or None.
    parent: type[Row] | type[Tenant] | None = None
    #: True: the tenant's limit of the family's name. A number: so many within one parent.
    limit: bool | int = False
    #: The field with the milliseconds that a row lives after it was written; 0 is for ever.
    ttl: str = ""
    #: How many former states of each row are kept.
    history: int = 0
    verbs: Sequence[str] = DERIVED
    examples: list[Row] = field(default_factory=list)

    @property
    def family(self) -> str:
        """The family of its rows."""
        return f"{self.plugin}.{self.plural}"

    @property
    def name(self) -> str:
        """The name of a row, as messages and services have it."""
        return self.cls.__name__

    @property
    def said(self) -> str:
        """How problems name it, with its place."""
        return f"{place_of(self.cls)}: {self.name}"

    @property
    def many(self) -> str:
        """The name of its rows."""
        return camel(self.plural)

    @property
    def shape(self) -> Mapping[str, Field]:
        """The fields of a row."""
        return shape_of(self.cls)

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the parts of the key."""
        return self.of(Role.KEY)

    @property
    def own_verbs(self) -> Sequence[VerbOf]:
        """The verbs that the class declares."""
        return self.cls.__row_verbs__

    def parameters(self, verb: VerbOf) -> Mapping[str, Field]:
        """Return the parameters of a verb, beside the key."""
        return parameters_of(verb.function, 2)

    @property
    def conditions(self) -> Mapping[str, Field]:
        """Conditions of lists beside filters: the one parameter of each."""
        found = {}
        for each in self.cls.__row_conditions__:
            [(name, asked), *more] = parameters_of(each, 1).items()
            if more or name != each.__name__ or name in self.shape:
                raise Misdeclared(
                    f"{asked.where}: the condition {each.__name__} has the parameter {name}",
                    "give it one keyword parameter of its own name, and no field of the row",
                )
            found[name] = asked
        return found

    def of(self, role: Role) -> tuple[str, ...]:
        """Return the names of the fields of a role."""
        return tuple(each.name for each in self.shape.values() if each.role is role)


class Plugin:
    """A plugin: `app = Plugin("notes")` in the module of its entry point.

    What is declared through it is what the hook `quorate_declarations` returns.
    """

    def __init__(
        self,
        name: str,
        *,
        settings: type[BaseModel] | None = None,
        group: str = "",
        shards: int = 1,
    ) -> None:
        self.name: Final = name
        self.group: Final = RaftGroup(name=group or name, shards=shards)
        self.resources: Final[list[RowResource]] = []
        #: What was declared beside classes.
        self.included: Final[list[Any]] = [self.group]
        #: The resources of the classes, once the generated messages were needed.
        self.made: Final[dict[type[Row], Resource[Any]]] = {}
        self._lifespan: Lifespan | None = None
        if settings is not None:
            self.included.append(ConfigSection(model=settings))
        caller = inspect.currentframe()
        back = caller.f_back if caller else None
        #: The module that made it.
        self.module: Final = str(back.f_globals["__name__"]) if back else name

    def resource(
        self,
        plural: str,
        *,
        parent: type[Row] | type[Tenant] | None = None,
        limit: bool | int = False,
        ttl: str = "",
        history: int = 0,
        verbs: Sequence[str] = DERIVED,
    ) -> Callable[[type[R]], type[R]]:
        """Declare a row class as a resource with the family `<plugin>.<plural>`.

        The first parts of its key are those of the parent, which must exist and is not being
        deleted; its rows are deleted with the parent.
        """

        def declare(cls: type[R]) -> type[R]:
            self.resources.append(
                RowResource(
                    plugin=self.name,
                    plural=plural,
                    cls=cls,
                    parent=parent,
                    limit=limit,
                    ttl=ttl,
                    history=history,
                    verbs=verbs,
                )
            )
            cls.__row_plugin__ = self
            return cls

        return declare

    def example(self, *rows: Row) -> None:
        """Add rows for the kit and the reference, where those made of the types do not suffice."""
        for row in rows:
            self.resource_of(type(row)).examples.append(row)

    def controller(
        self, *, interval_s: float = 10.0, wake_on: Sequence[type[Row]] = ()
    ) -> Callable[[Callable[[NodeApi, ShardRef], Awaitable[None]]], Run]:
        """Declare a background task of one leader; changes of the rows of `wake_on` run it."""

        def declare(run: Run) -> Run:
            self.include(
                Controller(
                    name=f"{self.name}.{run.__name__}",
                    group=self.group.name,
                    run_once=run,
                    interval_s=interval_s,
                    wake_on=tuple(self.resource_of(each).family for each in wake_on),
                )
            )
            return run

        return declare

    def include(self, *declarations: Any) -> None:
        """Declare anything else, as `quorate_declarations` may return it."""
        self.included.extend(declarations)

    def lifespan(self, context: Lifespan) -> Lifespan:
        """Declare the context that the plugin's own tasks live in while the node serves."""
        self._lifespan = context
        return context

    def resource_of(self, cls: type[Row]) -> RowResource:
        """Return the resource of a row class."""
        for each in self.resources:
            if each.cls is cls:
                return each
        raise Misdeclared(
            f"{cls.__name__} is no resource of {self.name}", "decorate it with @app.resource(...)"
        )

    @hookimpl
    def quorate_declarations(self) -> Sequence[Any]:
        """Return all that was declared; resources with their generated messages."""
        from quorate.plugin.rows.resources import resources_of

        return [*self.included, *resources_of(self)]

    @hookimpl
    def quorate_lifespan(self, node: NodeApi) -> AbstractAsyncContextManager[None]:
        """Return the declared context, or an empty one."""
        return nullcontext() if self._lifespan is None else self._lifespan(node)
