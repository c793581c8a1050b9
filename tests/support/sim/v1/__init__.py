"""Messages of the simulation's domain."""
