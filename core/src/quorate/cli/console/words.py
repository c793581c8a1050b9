"""How the console writes names, times and sizes for people."""

from __future__ import annotations

import time
from typing import Final

#: Words that are not written in small letters.
_WORDS: Final = {
    **{each.lower(): each for each in ("ACL", "ID", "TTL", "TLS", "URL", "UID", "KV", "MQTT")},
    **{"qos": "QoS", "http": "HTTP", "grpc": "gRPC", "cpu": "CPU", "p50": "p50", "p99": "p99"},
    **{"ms": "(ms)", "gb": "(GB)", "s": "(s)"},
}
_UNITS: Final = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def titled(name: str) -> str:
    """Return the name of a column or of rows as a title: `acl_rules` is "ACL rules"."""
    for end in ("_at_ms", "_at"):
        name = name.removesuffix(end)
    words = [_WORDS.get(each.lower(), each) for each in name.replace("_", " ").split()]
    text = " ".join(words)
    return text if text[:3] in ("p50", "p99") else text[:1].upper() + text[1:]


def ago(ms: float, now_ms: float | None = None) -> str:
    """Return how long ago a moment was, or how soon it is."""
    apart_s = ((time.time() * 1e3 if now_ms is None else now_ms) - ms) / 1e3
    for unit_s, unit in _UNITS:
        if (count := int(abs(apart_s) // unit_s)) >= 1:
            text = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{text} ago" if apart_s > 0 else f"in {text}"
    return "now"


def size_text(count: float) -> str:
    """Return a number of bytes."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(count) < 1_000:
            return f"{count:.3g} {unit}"
        count /= 1_000
    return f"{count:.3g} TB"
