"""HPACK, the compression of header fields (RFC 7541)."""

from quorate.http2.hpack.decoder import Decoder, HeaderListTooLargeError
from quorate.http2.hpack.encoder import plain_block
from quorate.http2.hpack.fields import Field, HpackError

__all__ = ["Decoder", "Field", "HeaderListTooLargeError", "HpackError", "plain_block"]
