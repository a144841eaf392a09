"""What the array language has of the names of NumPy, the array API and PyTensor.

``python -m tools.coverage`` prints the tables of docs/coverage.md, ``--write`` writes them.
"""
