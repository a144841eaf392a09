"""The tests that were published with PyMC and PyTensor, run with the mode ``"PHINTYS"``."""
