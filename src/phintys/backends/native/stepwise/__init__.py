"""Programs carried out step by step with NumPy, to check them and the memory planned for them."""
