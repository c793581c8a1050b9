"""Messages of the domain that processes under test serve."""
