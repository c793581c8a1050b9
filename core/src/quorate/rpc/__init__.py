"""Serves clients and other nodes through gRPC, and carries requests to other nodes."""
