"""What users draw with: streams, shared generators, NumPy's generators, and Ops of their own."""

__all__: list[str] = []
