"""The same programs in Phintys, NumPy, PyTensor and JAX, measured side by side."""
