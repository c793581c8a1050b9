"""The type `webhook`: messages are sent to an HTTP server."""

import re
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from quorate_connector.api import ConnectorType, SecretRef
from quorate_connector.types.fields import MODEL_CONFIG, Topic

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
#: Headers by which servers know who asks.
_SECRET_HEADER: Final = re.compile(r"authorization|cookie|token|secret|password|api-?key", re.I)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be a URL that begins with http:// or https:// and names a host")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or a password: refer to them in secret_headers")
    return text


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError("must be a name of an HTTP header")
    return name


def _open_header(name: str) -> str:
    if _SECRET_HEADER.search(name):
        raise ValueError("is a secret by its name: refer to it in secret_headers")
    return _header(name)


class WebhookConfig(BaseModel):
    """An HTTP server to which messages are sent."""

    model_config = MODEL_CONFIG

    topic: Topic
    url: Annotated[str, AfterValidator(_url)] = Field(min_length=1, max_length=2_048)
    method: Literal["POST", "PUT"] = "POST"
    headers: dict[
        Annotated[str, AfterValidator(_open_header)],
        Annotated[str, StringConstraints(max_length=4_096, pattern=r"^[\x20-\x7e]*$")],
    ] = Field({}, max_length=64, description="Sent with every message.")
    secret_headers: dict[Annotated[str, AfterValidator(_header)], SecretRef] = Field(
        {}, max_length=64, description="Sent as well; their values are where these references say."
    )
    batch: int = Field(1, ge=1, le=1_000, description="Messages that are sent in one request.")
    timeout_ms: int = Field(10_000, ge=1, le=300_000)


WEBHOOK: Final = ConnectorType(name="webhook", model=WebhookConfig, progress_of=("topic",))
