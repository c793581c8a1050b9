"""The messages of the gRPC package `quorate.v1`, generated from the `.proto` files beside them."""
