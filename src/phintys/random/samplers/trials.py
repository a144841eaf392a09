"""Trials that succeed with a probability, from 16 random bits each, and rarely 64 more.

The leading 16 digits of the probability are compared with the bits. Where they are equal, once in
65,536 trials, further bits decide about the other digits. So a trial is as exact as one of 69 bits,
and costs a quarter of the bits of a uniform number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.random.bits.random_bits import Positions, RandomBits
from phintys.random.bits.states import TO_TRY, Advance, StateWords
from phintys.random.exact.steps import RareCase, random_word
from phintys.random.exact.uniform import half_open_uniform
from phintys.tensor import math
from phintys.tensor.elemwise import elemwise
from phintys.tensor.sizes import ceil_div_sizes, fold, multiply_sizes

if TYPE_CHECKING:
    from phintys.graph.variable import Variable

_DIGITS = 16


def _by_further_bits(
    bits: Any, high: Any, rest: Any, position: Any, key: Any, *counter: Any
) -> Any:
    word = random_word(position, ps.xor(key, np.uint64(TO_TRY)), *counter)
    succeeds = ps.lt(half_open_uniform(word, "float64"), rest)
    return ps.switch(ps.eq(bits, high), succeeds, ps.lt(bits, high))


# Of bits, the leading digits of the probability, the others as a number from 0 to 1, the position,
# and the state; further bits have a key of their own.
trial_of_bits = RareCase(
    "trial_of_bits",
    nin=7,
    usual=lambda bits, high, rest, *place: ps.lt(bits, high),
    is_rare=lambda bits, high, rest, *place: ps.eq(bits, high),
    rare=_by_further_bits,
    has_wide_inputs=True,
    cost=10.0,
    derivative=lambda *inputs_and_out: (0,) * (len(inputs_and_out) - 1),
)


def trials(state: Variable, p: Any, lengths: tuple[Any, ...]) -> tuple[Variable, Any]:
    """Return the next state, and a bool for each trial.

    Parameters
    ----------
    state
        The state.
    p
        The probabilities.
    lengths
        The shape of the trials, against which the probabilities broadcast.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.random import state
    >>> from phintys.random.bits.states import random_type
    >>> from phintys.random.samplers.trials import trials
    >>> start = random_type.filter_variable(state(1))
    >>> trials(start, pt.constant([0.0, 1.0]), (2,))[1].eval()
    array([False,  True])
    """
    count = multiply_sizes([fold(length) for length in lengths])
    after = Advance()(state, ceil_div_sizes(count, RandomBits("uint64").in_block))
    scaled = math.cast(p, "float64") * 2.0**_DIGITS
    high = math.minimum(math.floor(scaled), 2.0**_DIGITS - 1)  # a certain trial is one of the rest
    words = StateWords()(state)
    place = (Positions()(*lengths), words[0], words[1], words[2])
    bits = RandomBits("uint16")(words, *lengths)
    succeeds = elemwise(trial_of_bits)(bits, math.cast(high, "uint16"), scaled - high, *place)
    return after, succeeds
