"""Who leads a segment: elections, their rules, and the controllers that hold them."""
