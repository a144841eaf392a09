"""The kinds of steps of a Program, one file each."""
