"""The tests of the workspace, and what several of them share."""
