"""The types of connectors: those that plugins offer, those shipped, and checking against them."""
