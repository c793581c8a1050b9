"""The section `[plugins.greeting]` of the configuration file."""

from pydantic import BaseModel, ConfigDict, Field

from quorate_greeting.validation import LONGEST_TTL_S


class GreetingConfig(BaseModel):
    """How this node greets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default_salutation: str = Field(
        "hello", min_length=1, description="Salutation of a hello that names none."
    )
    ttl_s: int = Field(
        86_400,
        ge=1,
        le=LONGEST_TTL_S,
        description="Time after which a greeting wears off, in seconds.",
    )
    tally_interval_s: float = Field(
        10.0, gt=0, description="Time between two counts of the greetings, in seconds."
    )
