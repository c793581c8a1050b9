"""The setting of expiry: a resource that operators change while the cluster runs."""

import json
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from quorate.builtin.resource.api import value_of
from quorate.plugin import NodeApi, Rejected

#: The path of the resource; its value is a JSON object.
PATH: Final = "settings/offset"
#: The family in which a change of the resource shows.
FAMILY: Final = "resource.resources"
WEEK_S: Final = 7 * 24 * 3_600


class OffsetSettings(BaseModel):
    """What operators set at run time."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: How long a group stays that nobody changes; 0: for ever.
    group_expire_s: int = Field(default=WEEK_S, ge=0, le=100 * 366 * 24 * 3_600)


async def read_settings(node: NodeApi) -> OffsetSettings:
    """Return what is set; raises `Rejected` for a resource that cannot be read."""
    value = await value_of(node, PATH)
    if value is None:
        return OffsetSettings()
    try:
        return OffsetSettings.model_validate(json.loads(value))
    except (ValueError, ValidationError) as error:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"resource {PATH} is not a JSON object of known settings, so no group expires until "
            f"it is put right: {error}",
        ) from error
