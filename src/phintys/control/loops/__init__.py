"""The Op of loops, what its arguments stand for, and how its steps run in Python."""
