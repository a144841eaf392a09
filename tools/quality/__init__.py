"""How random the bits of generators are: the tests of NIST on single and interleaved streams.

``python -m tools.quality`` prints a table, and fails if a test finds what chance explains less than
once in a million times.
"""
