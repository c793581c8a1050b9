"""HTTP/1.1 on `asyncio`, for ports that serve it beside gRPC; it knows nothing of Quorate."""
