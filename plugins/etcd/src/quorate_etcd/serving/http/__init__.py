"""The services over HTTP/1.1: the JSON gateway, and pages about the node."""
