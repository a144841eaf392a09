"""What every room stands on: errors, configuration, and where in user code a node was made."""
