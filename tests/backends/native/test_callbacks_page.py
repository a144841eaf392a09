"""What docs/native.md says of Ops that run in Python is what happens.

After an intended change run with ``PHINTYS_UPDATE_GOLDENS=1``, and read the difference.
"""

import importlib
import os
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.scalar_ops import can_emit
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.lower.lowering import LOWERINGS
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.compile.ownership import DeepCopy
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant
from phintys.scalar.op import ScalarOp
from phintys.scalar.table import SCALAR_OPS
from phintys.tensor.images.convolutions import Conv
from phintys.tensor.images.pooling import MaxPool
from phintys.tensor.sorting import RowOrder
from phintys.tensor.type import DTYPES

PAGE = Path(__file__).parents[3] / "docs" / "native.md"
MARKS = "<!-- table of callbacks -->\n", "<!-- end of the table -->\n"


def modules():
    for room in ("phintys.tensor", "phintys.gradient", "phintys.compile"):
        package = importlib.import_module(room)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            yield importlib.import_module(found.name)


def op_classes():
    """All Ops of Phintys but the scalar ones, and those that are only bases of others."""
    found = {
        thing
        for module in modules()
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, Op)
        and not issubclass(thing, ScalarOp)
        and thing.__module__ == module.__name__
        and not thing.__name__.startswith("_")
    }
    return sorted(found, key=lambda cls: cls.__name__)


# A copy of any value, and what other classes are derived from.
NOT_IN_PROGRAMS = {
    "AnalyticMatrixOp",
    "DeepCopy",
    "ExpFamily",
    "FailingMatrixOp",
    "IndexingOp",
    "KeepsShape",
    "TakesShape",
    "MatrixOp",
    "OverAxes",
    "ShapedOp",
}


def without_lowering():
    names = [cls for cls in op_classes() if LOWERINGS.find(cls) is None]
    return [cls.__name__ for cls in names if cls.__name__ not in NOT_IN_PROGRAMS]


def lacks_code(op, dtype):
    """Whether a scalar op takes operands of a dtype, and has no native code for them."""
    dtypes = [dtype] * (op.nin if op.nin > 0 else 2)
    try:
        op.resolve_dtypes(dtypes)
    except DtypeError:
        return False
    return not can_emit(op, dtypes)


def scalar_ops_without_code():
    """Names of scalar ops, by the dtypes for which they have no native code."""
    found = {}
    for name, op in sorted(SCALAR_OPS.items()):
        missing = [dtype for dtype in DTYPES if lacks_code(op, dtype)]
        if missing:
            kind = "complex numbers" if missing[0].startswith("complex") else "any dtype"
            found.setdefault(kind, []).append(name)
    return found


def x(dtype, ndim=1):
    return pt.tensor(dtype=dtype, shape=(None,) * ndim)


class Halve(ps.UnaryScalarOp):
    """A scalar op of a user."""

    def __init__(self):
        super().__init__(ps.upgrade_to_float, name="halve")

    def impl(self, value):
        return value / 2


CONDITIONS = [
    ("a scalar op of a user", lambda: pt.Elemwise(Halve())(x("float64"))),
    ("the largest and smallest of complex numbers", lambda: pt.max(x("complex128"))),
    ("where the largest of complex numbers is", lambda: pt.argmax(x("complex128"))),
    ("a reduction by any other scalar op", lambda: pt.Reduce(ps.logaddexp)(x("float64"))),
    ("exponentials of complex numbers", lambda: pt.special.softmax(x("complex128"))),
    ("bools without dimensions", lambda: x("float64")[True]),
    ("assignment at bools without dimensions", lambda: pt.set_subtensor(x("float64")[True], 1.0)),
    ("a range of integers between floats", lambda: pt.ARange("int64")(x("float64", 0), 9.5, 1.5)),
    ("a range with a bound of uint64", lambda: pt.ARange("int64")(0, x("uint64", 0), 1)),
    ("rows of 256 elements or more", lambda: pt.sort(pt.tensor(shape=(256,)))),
    (
        "indices of rows of 131,072 elements or more",
        lambda: pt.argsort(pt.tensor(shape=(1 << 17,))),
    ),
    ("partitions at known places", lambda: pt.partition(x("float64"), 1)),
    ("indices of partitions", lambda: pt.argpartition(x("float64"), 1)),
    ("arrays of 65,536 numbers or more", lambda: pt.fft.fft(pt.tensor(shape=(1 << 16,)))),
    ("rows of a matrix", lambda: RowOrder()(x("float64", 2))),
    ("places of complex numbers", lambda: pt.searchsorted(x("complex128"), x("complex128"))),
    (
        "places in a vector that is not sorted",
        lambda: pt.searchsorted(x("float64"), x("float64"), sorter=x("int64")),
    ),
    ("bools and complex numbers", lambda: pt.Convolve()(x("complex128"), x("complex128"))),
    ("numbers of half precision", lambda: pt.Convolve()(x("float16"), x("float16"))),
    ("images of other dtypes", lambda: Conv((1,))(x("int64", 3), x("int64", 3))),
    ("more than three spatial axes", lambda: Conv((1,) * 4)(x("float64", 6), x("float64", 6))),
    ("numbers other than float32 and float64", lambda: MaxPool((2,), (2,))(x("int64"))[0]),
    ("windows of more than three axes", lambda: MaxPool((2,) * 4, (2,) * 4)(x("float64", 4))[0]),
]
"""What runs in Python although its Op has a lowering, and an example of it."""


def leaves(variable):
    return [leaf for leaf in graph_inputs([variable]) if not isinstance(leaf, Constant)]


def reason(variable):
    """Why the only callback of a graph is one."""
    program = lower_program(FunctionGraph(leaves(variable), [variable], clone=True))
    (callback,) = [step for step in walk_steps(program.steps) if isinstance(step, Callback)]
    return callback.node.op, callback.why


def table():
    names = ", ".join(f"`{name}`" for name in without_lowering())
    rows = [("Ops", names, "have no lowering")]
    for kind, ops in scalar_ops_without_code().items():
        rows.append(("scalar ops", ", ".join(f"`{name}`" for name in ops), f"no code for {kind}"))
    for what, example in CONDITIONS:
        op, why = reason(example())
        rows.append((f"`{type(op).__name__}`", what, why))
    lines = ["| | in Python | because |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def parts():
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    inside, after = rest.split(MARKS[1])
    return before, inside, after


if os.environ.get("PHINTYS_UPDATE_GOLDENS") == "1":
    _before, _, _after = parts()
    PAGE.write_text(_before + MARKS[0] + table() + MARKS[1] + _after, encoding="utf-8")


def test_the_table_is_right():
    assert parts()[1] == table()


def test_copies_are_native_too():
    assert DeepCopy().is_copy


@pytest.mark.parametrize("what", [what for what, _ in CONDITIONS])
def test_callbacks_are_counted(what):
    variable = dict(CONDITIONS)[what]()
    f = phintys.function(leaves(variable), variable, mode="native")
    assert "1 callback" in f.explain().splitlines()[0]


def test_results_are_those_of_numpy():
    value = np.array([1 + 2j, 1 - 1j, -3j])
    z = x("complex128")
    f = phintys.function([z], [pt.max(z), pt.argmax(z), pt.sort(z)])
    largest, place, ordered = f(value)
    assert (largest, place) == (1 + 2j, 0)
    np.testing.assert_array_equal(ordered, np.sort(value))
