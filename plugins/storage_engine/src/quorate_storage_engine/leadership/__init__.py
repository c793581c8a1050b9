"""The leaders of segments: elections, their rules, and the controllers that hold them."""
