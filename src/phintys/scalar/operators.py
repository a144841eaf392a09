"""The ops that Python operators on scalars and the derivative rules apply.

Variables come before the ops on them, so the names are declared here, low, and given their ops from
above: :mod:`phintys.scalar.table` fills :data:`OPERATORS` once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phintys._base.errors import OpContractError

__all__ = ["OPERATORS", "Operators"]

_Apply = Callable[..., Any]


class Operators:
    """Ops by the name of what they do; one attribute each."""

    add: _Apply
    sub: _Apply
    mul: _Apply
    true_div: _Apply
    int_div: _Apply
    mod: _Apply
    pow: _Apply
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
    sqrt: _Apply
    real: _Apply
    imag: _Apply
    conj: _Apply
    switch: _Apply
    second: _Apply
    cast: _Apply
    complex: _Apply

    def fill(self, **ops: _Apply) -> None:
        """Give every name its op.

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
