"""The commands of ``phintys`` and ``python -m phintys``."""

__all__: list[str] = []
