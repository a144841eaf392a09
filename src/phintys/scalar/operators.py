"""The ops used by Python operators on scalars, by derivative rules and by expansions.

Variables are defined before the ops on them, so the names are declared here, in a low layer:
:mod:`phintys.scalar.table` fills :data:`OPERATORS` once the ops exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phintys._base.errors import OpContractError

_Apply = Callable[..., Any]


class Operators:
    """One attribute for each op, named after its operation."""

    add: _Apply
    sub: _Apply
    mul: _Apply
    true_div: _Apply
    int_div: _Apply
    mod: _Apply
    pow: _Apply
    pow_less_one: _Apply
    neg: _Apply
    pos: _Apply
    abs: _Apply
    lt: _Apply
    le: _Apply
    gt: _Apply
    ge: _Apply
    eq: _Apply
    ne: _Apply
    and_: _Apply
    or_: _Apply
    xor: _Apply
    invert: _Apply
    left_shift: _Apply
    right_shift: _Apply
    ceil: _Apply
    floor: _Apply
    trunc: _Apply
    round: _Apply
    exp: _Apply
    log: _Apply
    log1p: _Apply
    xlogy: _Apply
    sqr: _Apply
    sqrt: _Apply
    cbrt: _Apply
    sigmoid: _Apply
    tanh: _Apply
    real: _Apply
    imag: _Apply
    conj: _Apply
    switch: _Apply
    second: _Apply
    cast: _Apply
    complex: _Apply
    expanded: _Apply

    def fill(self, **ops: _Apply) -> None:
        """Set the op of every name.

        Raises
        ------
        OpContractError
            A name is missing or unknown.
        """
        names = {name for name in Operators.__annotations__ if not name.startswith("_")}
        if ops.keys() != names:
            msg = f"Operators must be filled completely; names that differ: {ops.keys() ^ names}."
            raise OpContractError(msg)
        self.__dict__.update(ops)


OPERATORS = Operators()
