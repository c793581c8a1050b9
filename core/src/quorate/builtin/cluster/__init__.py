"""The built-in domain of the brokers: who serves, under which epoch, until when."""
