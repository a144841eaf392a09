"""The rows of Jacobians: one at a time, or all at once."""
