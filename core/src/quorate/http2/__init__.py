"""HTTP/2 (RFC 9113), HPACK (RFC 7541) and gRPC over them, both sides; it knows no Quorate.

`hpack/` compresses lists of header fields. `connection` is the protocol without any I/O: bytes go
in, calls on its `Owner` and bytes come out. `wire` joins a connection to a socket of `asyncio`, and
`grpc/` carries calls over it.

A unary call that a server answers costs: a `Stream`, a `ServerCall` and the bytes of its request;
one look at a remembered header block; one step of the handler's coroutine. A handler that does not
wait makes no future and no task, and the answers of one turn of the loop leave in one write.
`grpc.channel` says what a call costs its caller.
"""
