"""The messages of etcd's API, generated from the `.proto` files beside them.

Their packages, names and numbers are etcd's. The pool of protobuf holds one message of a name: a
process that has imported this package cannot import a client of etcd that brings its own.
"""
