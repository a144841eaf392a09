"""Rows that are expressions in other scalar functions, as one op."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.scalar.composite import Composite
from phintys.scalar.op import Dtypes
from phintys.scalar.row import Row
from phintys.scalar.type import get_scalar_type


def expanded(row: Row, input_dtypes: Sequence[Any]) -> Composite:
    """Return the expansion of a row for inputs of given dtypes, as one op.

    Raises
    ------
    MethodNotDefinedError
        The row has no expansion.

    Examples
    --------
    >>> from phintys.scalar import sinc
    >>> from phintys.scalar.expansion import expanded
    >>> expanded(sinc, ["float16"]).inner_inputs[0].type
    ScalarType(float32)
    """
    return _expanded(row, tuple(map(np.dtype, input_dtypes)))


@cache
def _expanded(row: Row, dtypes: Dtypes) -> Composite:
    if row.expansion is None:
        msg = f"The row {row} has no expansion into other functions."
        raise MethodNotDefinedError(msg)
    inputs = [get_scalar_type(dtype)() for dtype in row.compute_dtypes(dtypes)]
    return Composite(inputs, [row.expansion(*inputs)], name=row.name)
