"""The checks of DebugMode: of nodes, of rewrites, and of whole programs."""
