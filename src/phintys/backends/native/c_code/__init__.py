"""C code of Ops: its source, its compiler, and the functions that native code calls."""
