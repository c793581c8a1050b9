"""gRPC over HTTP/2: a server of methods, and channels that call them."""
