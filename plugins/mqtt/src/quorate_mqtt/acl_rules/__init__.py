"""ACL rules: what clients may do with topics, and what not."""
