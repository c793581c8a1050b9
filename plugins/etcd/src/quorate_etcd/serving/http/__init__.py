"""What is served over HTTP/1.1: the gateway of JSON, and pages about the node."""
