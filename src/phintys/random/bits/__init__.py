"""Where random bits come from: states of generators, Philox, and the Op RandomBits."""

__all__: list[str] = []
