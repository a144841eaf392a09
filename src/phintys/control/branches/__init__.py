"""Choices of which only the chosen side is computed."""
