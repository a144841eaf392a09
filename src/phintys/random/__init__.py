"""Random numbers: states, random bits, distributions, streams."""

from phintys.random.bits import RandomBits
from phintys.random.philox import philox
from phintys.random.states import (
    Advance,
    FoldIn,
    Jump,
    RandomType,
    Split,
    StateWords,
    random_type,
    state,
)

__all__ = ["Advance", "FoldIn", "Jump", "RandomBits", "RandomType", "Split", "StateWords", "philox", "random_type", "state"]
