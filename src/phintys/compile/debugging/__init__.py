"""What DebugMode does: checks of nodes, of rewrites, and of whole programs."""
