"""Log formats, a line per event: text or JSON."""

import json
import logging
import sys
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

Form = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]

#: The attributes of every record; all others are fields from `extra`.
_USUAL: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})


#: The replacement of a secret.
SECRET: Final = "[secret]"


def configure(
    form: Form,
    level: Level,
    node: str,
    stream: TextIO | None = None,
    *,
    secrets: Collection[str] = (),
) -> None:
    """Log to a stream, by default standard error, from a level on; include warnings.

    `secrets` are replaced in all lines.
    """
    out = logging.StreamHandler(sys.stderr if stream is None else stream)
    lines = JsonLines(node) if form == "json" else TextLines(node)
    out.setFormatter(Redacted(lines, secrets) if secrets else lines)
    logging.basicConfig(level=level.upper(), handlers=[out], force=True)
    logging.captureWarnings(True)
    # grpc warns of every stream that an orderly shutdown of a server cancels.
    logging.getLogger("grpc").setLevel(logging.ERROR)
    # It logs every failed attempt; `Collector` logs the loss of spans once, and counts it.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


class Redacted(logging.Formatter):
    """The lines of another formatter with secrets replaced, also in their JSON form."""

    def __init__(self, lines: logging.Formatter, secrets: Collection[str]) -> None:
        super().__init__()
        self._lines: Final = lines
        spelled = {*secrets, *(json.dumps(each)[1:-1] for each in secrets)}
        # The longest first: one may be a part of another.
        self._spelled: Final = sorted(spelled, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = self._lines.format(record)
        for secret in self._spelled:
            line = line.replace(secret, SECRET)
        return line


class _Lines(logging.Formatter):
    """The lines of a node."""

    def __init__(self, node: str) -> None:
        super().__init__()
        self._node: Final = node

    def _fields(self, record: logging.LogRecord) -> dict[str, object]:
        """Return the fields from `extra`, and the traceback if there is one."""
        fields = {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        elif record.exc_text:
            fields["traceback"] = record.exc_text
        return fields


class TextLines(_Lines):
    """`time LEVEL logger: message key=value ...`; values that would break the line are JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields = {"node": self._node, **self._fields(record)}
        written = "".join(f" {name}={_plain(value)}" for name, value in fields.items())
        message = record.getMessage()
        if not message.isprintable():
            message = json.dumps(message)
        return f"{_time(record)} {record.levelname} {record.name}: {message}{written}"


class JsonLines(_Lines):
    """A JSON object per line, with `time`, `level`, `logger`, `node` and `message` first."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        written = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "node": self._node,
            "message": record.getMessage(),
            **self._fields(record),
        }
        return json.dumps(written, default=str)


def _plain(value: object) -> str:
    text = str(value)
    plain = text and text.isprintable() and not set(text) & set(' "=')
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
