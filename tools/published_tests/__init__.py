"""The tests that were published with PyTensor and Aesara, run through ``phintys.compat``."""
