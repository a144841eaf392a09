"""The writer: the code of a whole program, which calls kernels and routines in order."""
