"""The ops of phintys.tensor.inplace overwrite their first operand and compute what the pure do."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import OpContractError
from phintys.scalar import SCALAR_OPS
from phintys.tensor import inplace
from phintys.tensor.elemwise import Elemwise
from phintys.testing import check_op
from phintys.testing.scalar_domains import DOMAINS

NAMES = [name.removesuffix("_inplace") for name in inplace.__all__]

# Without an op in place: a copy in place is nothing, and ldexp's first operand is all it has.
NOT_HERE = {"identity", "ldexp", *(name for name in SCALAR_OPS if name.startswith("cast_"))}

OTHER_NAMES = {"neq": "ne", "and": "and_", "or": "or_"}


def _row(name):
    return SCALAR_OPS[OTHER_NAMES.get(name, name)]


def _values(name):
    """Return operands of a dtype in which the result can take the place of the first."""
    domain = DOMAINS[_row(name).name]
    rng = np.random.default_rng(1)
    kinds = "fibc"
    for kind, dtype in zip(kinds, ("float64", "int64", "bool", "complex128"), strict=True):
        if kind not in domain.kinds:
            continue
        arrays = []
        for position in range(len(domain.intervals)):
            low, high = domain.interval(position, kind)
            whole = kind in "bi" or position in domain.whole
            values = rng.integers(low, high + 1, 5) if whole else rng.uniform(low, high, 5)
            arrays.append(values.astype(dtype))
        if _row(name).resolve_dtypes([dtype] * len(arrays))[0] == dtype:
            return arrays
    return None


def test_every_scalar_op_is_there():
    assert {_row(name).name for name in NAMES} == set(SCALAR_OPS) - NOT_HERE
    assert len(set(inplace.__all__)) == len(inplace.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_facts(name):
    op = getattr(inplace, f"{name}_inplace")
    assert isinstance(op, Elemwise)
    assert op.scalar_op is _row(name)
    assert op.inplace_pattern == {0: 0}
    assert op.destroy_map == {0: [0]}
    assert op != Elemwise(op.scalar_op)
    assert op == Elemwise(op.scalar_op, {0: 0})


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    values = _values(name)
    op = getattr(inplace, f"{name}_inplace")
    pure = Elemwise(_row(name))
    if values is None:  # the result never has the dtype of the operand
        domain = DOMAINS[_row(name).name]
        vector = pt.dvector if "f" in domain.kinds else pt.lvector
        with pytest.raises(OpContractError, match="cannot work in place"):
            op(*[vector() for _ in domain.intervals])
        return
    expected = _result(pure, values, [None])
    given = [value.copy() for value in values]
    cell = [None]
    np.testing.assert_array_equal(_result(op, given, cell), expected)
    assert cell[0] is given[0]
    for value, copy in zip(given[1:], values[1:], strict=True):
        np.testing.assert_array_equal(value, copy)


def _result(op, values, cell):
    variables = [pt.tensor(shape=(None,), dtype=value.dtype) for value in values]
    node = op(*variables).owner
    with np.errstate(all="ignore"):
        op.perform(node, values, [cell])
    return cell[0]


@pytest.mark.parametrize("name", ["add", "exp", "maximum", "and", "isnan", "sigmoid"])
def test_the_contract(name):
    op = getattr(inplace, f"{name}_inplace")
    values = _values(name)
    check_op(op, [values, [value[::-1].copy() for value in values]])
