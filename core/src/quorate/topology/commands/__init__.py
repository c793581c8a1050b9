"""Core's own commands: the handlers of the control group, in the way of a plugin's."""
