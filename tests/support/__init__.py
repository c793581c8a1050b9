"""What the tests of the workspace stand on, and no wheel holds."""
