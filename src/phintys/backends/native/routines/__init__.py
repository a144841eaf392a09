"""Library routines that programs call, one file a family."""
