"""What a newcomer gets wrong, and what the error says: what was expected, what came, where, and
how to mend it.

Each case is a program as it would be typed, the class of the error that ends it, and pieces of the
message (with its notes). ``line N`` among the pieces is a line of the program.
"""

import linecache
import textwrap
import traceback
from typing import NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import (
    ArgumentError,
    ConfigError,
    CycleError,
    DtypeError,
    GradientError,
    IndexingError,
    MethodNotDefinedError,
    MissingInputError,
    OpContractError,
    OutOfBoundsError,
    ShapeError,
    TransferError,
    TypeContractError,
    UnusedInputError,
)
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type


class Case(NamedTuple):
    program: str
    error: type[Exception]
    fragments: list[str]


VARIABLES = {
    "a name that is no name": Case("pt.matrix(3)", TypeContractError, ["name", "str", "3", "int"]),
    "a rank that nobody gave": Case('pt.tensor("x")', TypeContractError, ["shape=", "None"]),
    "a negative size": Case('pt.tensor("x", shape=(2, -1))', TypeContractError, ["-1", "(2, -1)"]),
    "a dtype that does not exist": Case(
        'pt.vector("x", dtype="float63")', TypeContractError, ["'float63'", "one of", "float64"]
    ),
    "text in arithmetic": Case(
        'pt.vector("x") + "one"', TypeContractError, ["a number", "'one'", "str"]
    ),
    "None in arithmetic": Case(
        'pt.vector("x") * None', TypeContractError, ["a number", "None", "NoneType"]
    ),
    "dates": Case(
        "pt.constant(np.array(['2020-01-01', '2020-01-05'], 'M8[D]'))",
        TypeContractError,
        ["which holds dates", "(x - x.min()) / np.timedelta64(1, 'D')"],
    ),
    "durations": Case(
        "phintys.shared(np.array([1, 2], 'm8[s]'))",
        TypeContractError,
        ["dtype timedelta64[s], which holds durations", "x / np.timedelta64(1, 's')"],
    ),
    "numbers as text": Case(
        "pt.constant(['1.5', '2'])", TypeContractError, ["text", "np.asarray(x, dtype=float)"]
    ),
    "a table": Case(
        "phintys.shared(np.zeros(2, [('height', float), ('age', int)]))",
        TypeContractError,
        ["fields", "x['height']"],
    ),
    "a missing number": Case(
        "pt.constant([[1.0, 2.0], [3.0, None]])",
        TypeContractError,
        ["element [1, 1] is None (NoneType)"],
    ),
    "a ragged list": Case("pt.constant([[1, 2], [3]])", TypeContractError, ["[[1, 2], [3]]"]),
    "a literal that does not fit": Case(
        'pt.bvector("x") + 300', OutOfBoundsError, ["300", "int8", "np.int64(300)"]
    ),
    "bits of floats": Case(
        'pt.vector("x") & pt.vector("y")', DtypeError, ["integers", "float64", "cast"]
    ),
    "complex to real": Case(
        'pt.zvector("x").astype("float64")', DtypeError, ["complex128", "real(x)", "abs(x)"]
    ),
    "a condition in Python": Case(
        """
        x = pt.scalar("x")
        if x > 0:
            x = -x
        """,
        TypeError,
        ["symbolic", "pt.switch", "&"],
    ),
    "a loop over what has no known size": Case(
        'list(pt.vector("x"))', TypeError, ["x", "size", "static shape"]
    ),
    "a number of a symbol": Case('float(pt.scalar("x"))', TypeError, ["x", "astype", "eval()"]),
    "a function of Python's math": Case(
        'import math; math.exp(pt.scalar("x"))', TypeError, ["x", "pt.exp", "math"]
    ),
    "a range of a symbol": Case(
        'range(pt.lscalar("n"))', TypeError, ["n", "range", "fori_loop", "scan", "pt.arange"]
    ),
    "a list with the index of a symbol": Case(
        '[1, 2][pt.lscalar("n")]', TypeError, ["pt.stack(entries)[n]"]
    ),
    "digits of a symbol": Case(
        'f"{pt.scalar(chr(120)):.3f}"', TypeError, ["x", "'.3f'", "eval()", "pt.Print"]
    ),
    "an element deleted": Case('del pt.vector("x")[0]', TypeError, ["pt.delete(x, index)"]),
    "an array of a symbol": Case('np.asarray(pt.vector("x"))', TypeError, ["x", "eval()"]),
    "an assignment to an element": Case(
        """
        x = pt.vector("x")
        x[0] = 1
        """,
        TypeError,
        ["never changes", "pt.set_subtensor(x[index], value)"],
    ),
    "sizes that cannot broadcast": Case(
        'pt.tensor("x", shape=(2, 3)) + pt.tensor("y", shape=(4, 3))',
        ShapeError,
        ["Add", "dimension 0", "x: shape (2, 3)", "y: shape (4, 3)"],
    ),
    "a product of sizes that do not fit": Case(
        'pt.tensor("x", shape=(2, 3)) @ pt.tensor("y", shape=(4, 3))',
        ShapeError,
        ["x: shape (2, 3)", "y: shape (4, 3)", ".T"],
    ),
    "@ for a number": Case('pt.scalar("x") @ pt.vector("y")', ShapeError, ["rank 1", "write *"]),
    "too many indices": Case('pt.vector("x")[0, 1]', IndexingError, ["x", "1 dim", "2"]),
    "an index beyond a known size": Case(
        'pt.tensor("x", shape=(3,))[5]', IndexingError, ["5", "size 3", "-3 to 2"]
    ),
    "an index that is no integer": Case(
        'pt.vector("x")[1.5]', IndexingError, ["1.5", "float", "int"]
    ),
    "an axis that is not there": Case('pt.matrix("x").sum(axis=2)', ShapeError, ["2", "-2 to 1"]),
    "an axis of a scalar": Case('pt.scalar("x").sum(axis=0)', ShapeError, ["rank 0", "none"]),
    "an axis named twice": Case('pt.matrix("x").sum(axis=(0, 0))', ShapeError, ["twice", "(0, 0)"]),
    "two unknown sizes": Case('pt.matrix("x").reshape((-1, -1))', ShapeError, ["one -1"]),
    "another number of elements": Case(
        'pt.tensor("x", shape=(2, 3)).reshape((4, 2))', ShapeError, ["(2, 3)", "(4, 2)"]
    ),
    "arrays of different ranks joined": Case(
        'pt.concatenate([pt.vector("x"), pt.matrix("y")])', ShapeError, ["x: Vector", "y: Matrix"]
    ),
    "one variable joined": Case(
        'pt.concatenate(pt.matrix("x"))', OpContractError, ["list", "concatenate([x, y], axis)"]
    ),
    "too many operands": Case(
        'pt.exp(pt.vector("x"), pt.vector("y"))', OpContractError, ["Exp", "1 operand,", "2"]
    ),
    "half of where": Case(
        'pt.where(pt.vector("x") > 0, 1.0)', OpContractError, ["where(condition, x, y)"]
    ),
    "a part that is no part": Case(
        'pt.set_subtensor(pt.vector("x"), 3)', OpContractError, ["set_subtensor(x[index], y)"]
    ),
    "overwriting what is too small a dtype": Case(
        'pt.inplace.add_inplace(pt.lvector("x"), pt.vector("y"))',
        OpContractError,
        ["in place", "int64", "float64"],
    ),
    "moving to nowhere": Case('pt.vector("x").transfer("moon")', TransferError, ["'moon'"]),
}

COMPILING = {
    "a missing input": Case(
        """
        x, y = pt.vectors("x", "y")
        z = x + y
        phintys.function([x], z * 2)
        """,
        MissingInputError,
        ["y", "inputs are: x", "Add", "line 2", "z = x + y", "givens={y: value}", "shared(value)"],
    ),
    "a namesake of an input": Case(
        """
        y = pt.vector("x") * 2
        phintys.function([pt.vector("x")], y)
        """,
        MissingInputError,
        ["same name 'x'", "another variable"],
    ),
    "an input without influence": Case(
        """
        x, y = pt.vectors("x", "y")
        phintys.function([x, y], x)
        """,
        UnusedInputError,
        ["y at index 1", "on_unused_input='ignore'"],
    ),
    "one variable for inputs": Case(
        """
        x = pt.vector("x")
        phintys.function(x, x)
        """,
        ArgumentError,
        ["list", "Write [x]"],
    ),
    "an input twice": Case(
        """
        x = pt.vector("x")
        phintys.function([x, x], x)
        """,
        ArgumentError,
        ["index 0", "index 1", "once"],
    ),
    "a value for an input": Case(
        "phintys.function([np.zeros(3)], 1)", ArgumentError, ["Variable", "ndarray", "value="]
    ),
    "a set of outputs": Case(
        """
        x = pt.vector("x")
        phintys.function([x], [{x}])
        """,
        ArgumentError,
        ["{x}", "set", "lists, tuples, dicts"],
    ),
    "a shared variable for an input": Case(
        """
        s = phintys.shared(0.0, name="s")
        phintys.function([s], s)
        """,
        ArgumentError,
        ["s", "by themselves", "givens="],
    ),
    "a misspelt keyword": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x, moed="debug")
        """,
        TypeError,
        ["'moed'"],
    ),
    "a misspelt mode": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x, mode="FASTRUN")
        """,
        ConfigError,
        ["'FASTRUN'", "Did you mean 'FAST_RUN'?"],
    ),
    "an update of another type": Case(
        """
        n = phintys.shared(0, name="n")
        phintys.function([], [], updates=[(n, n + 0.5)])
        """,
        ArgumentError,
        ["n", "Scalar(int64)", "Scalar(float64)", "astype('int64')"],
    ),
    "two updates of one value": Case(
        """
        n = phintys.shared(0, name="n")
        phintys.function([], [], updates=[(n, n + 1), (n, n + 2)])
        """,
        ArgumentError,
        ["n", "two new values"],
    ),
    "an update of an input": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x, updates=[(x, x + 1)])
        """,
        ArgumentError,
        ["shared variable", "got x", "In(variable, value=..., update=...)"],
    ),
    "a replacement of another type": Case(
        """
        x = pt.vector("x")
        phintys.function([], x * 2, givens={x: pt.matrix("m")})
        """,
        ArgumentError,
        ["x", "m", "Vector(float64", "Matrix(float64", "rebuild_strict=False"],
    ),
    "an Op that overwrites its input": Case(
        """
        x, y = pt.vectors("x", "y")
        phintys.function([x, y], pt.inplace.add_inplace(x, y))
        """,
        ArgumentError,
        ["overwrites", "line 2", "accept_inplace=True"],
    ),
    "a graph that depends on itself": Case(
        """
        x = pt.vector("x")
        y = x + 1
        z = y * 2
        y.owner.inputs[0] = z
        phintys.function([x], z, on_unused_input="ignore")
        """,
        CycleError,
        ["itself", "line 2", "line 3", "y = x + 1", "z = y * 2"],
    ),
    "a symbolic shared value": Case(
        'phintys.shared(pt.vector("x"))', TypeContractError, ["value", "x", "eval()"]
    ),
    "a misspelt option": Case(
        'phintys.config.floatx = "float32"', AttributeError, ["'floatx'", "Did you mean 'floatX'?"]
    ),
    "an option that cannot be so": Case(
        'phintys.config.floatX = "float63"', ConfigError, ["'float63'", "float32"]
    ),
    "evaluating without values": Case(
        '(pt.vector("x") * 2).eval()', MissingInputError, ["x", "eval({input: value})"]
    ),
    "evaluating with the name of nothing": Case(
        '(pt.vector("x") * 2).eval({"y": [1]})', ArgumentError, ["'y'", "inputs are x"]
    ),
    "a value among replacements": Case(
        """
        x = pt.vector("x")
        phintys.clone_replace(x * 2, {x: 3})
        """,
        TypeContractError,
        ["x -> 3", "make_constant"],
    ),
    "an unclosed graph": Case(
        'FunctionGraph([pt.vector("x")], [pt.vector("y") + 1])',
        MissingInputError,
        ["y", "inputs", "shared(value)"],
    ),
    "printing a number": Case("phintys.dprint(3)", TypeContractError, ["variables", "3", "int"]),
}

CALLS = {
    "dates as an argument": Case(
        """
        x = pt.dvector("x")
        phintys.function([x], x)(np.array(["2020-01-01"], "M8[s]"))
        """,
        TypeContractError,
        ["index 0 ('x')", "which holds dates", "np.timedelta64(1, 's')"],
    ),
    "Decimals as an argument": Case(
        """
        from decimal import Decimal
        x = pt.dvector("x")
        phintys.function([x], x)([0.5, Decimal("1.5")])
        """,
        TypeContractError,
        ["element [1] is Decimal('1.5')", "float"],
    ),
    "an argument too few": Case(
        """
        x, y = pt.vectors("x", "y")
        phintys.function([x, y], x + y)([1.0])
        """,
        ArgumentError,
        ["y at index 1", "x: Vector(float64", "y: Vector(float64"],
    ),
    "an argument too many": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x, name="f")([1.0], [2.0])
        """,
        ArgumentError,
        ["f() takes 1 argument, got 2", "x: Vector(float64"],
    ),
    "an unknown keyword": Case(
        """
        weights = pt.vector("weights")
        phintys.function([weights], weights)(weihgts=[1.0])
        """,
        ArgumentError,
        ["'weihgts'", "Did you mean 'weights'?"],
    ),
    "a matrix for a vector": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x)([[1.0]])
        """,
        TypeContractError,
        ["index 0 ('x')", "expected 1", "got 2", "(1, 1)"],
    ),
    "a wrong size": Case(
        """
        x = pt.tensor("x", shape=(3,))
        phintys.function([x], x)([1.0, 2.0])
        """,
        TypeContractError,
        ["expected (3,)", "got (2,)", "index 0 ('x')"],
    ),
    "a lossy cast of an array": Case(
        """
        x = pt.fvector("x")
        phintys.function([x], x)(np.ones(3) / 3)
        """,
        TypeContractError,
        ["float64", "float32", "astype('float32')", "allow_downcast=True"],
    ),
    "a fraction for an integer": Case(
        """
        n = pt.lscalar("n")
        phintys.function([n], n)(1.5)
        """,
        TypeContractError,
        ["1.5", "int64", "loss"],
    ),
    "a complex number for a real one": Case(
        """
        x = pt.dscalar("x")
        phintys.function([x], x)(1 + 2j)
        """,
        TypeContractError,
        ["(1+2j)", "real part"],
    ),
    "text for numbers": Case(
        """
        x = pt.vector("x")
        phintys.function([x], x)("hello")
        """,
        TypeContractError,
        ["'hello'", "numbers", "index 0 ('x')"],
    ),
    "a wrong shared value": Case(
        """
        s = phintys.shared(np.zeros(3), name="weights")
        s.set_value(np.zeros((3, 3)))
        """,
        TypeContractError,
        ["expected 1", "got 2", "(3, 3)", "weights"],
    ),
    "sizes that differ": Case(
        """
        x, y = pt.vectors("x", "y")
        z = x * y
        phintys.function([x, y], z)([1.0, 2.0], [1.0, 2.0, 3.0])
        """,
        ShapeError,
        ["Mul", "x: shape (2,)", "y: shape (3,)", "line 2", "z = x * y", "dimension 0"],
    ),
    "a size of 1 that nobody announced": Case(
        """
        x, y = pt.vectors("x", "y")
        z = x * y
        phintys.function([x, y], z)([1.0], [1.0, 2.0, 3.0])
        """,
        ShapeError,
        ["x: shape (1,)", "known to be 1", "shape=(1,)", "line 2"],
    ),
    "matrices that do not fit": Case(
        """
        x, y = pt.matrices("x", "y")
        z = x @ y
        phintys.function([x, y], z)(np.ones((2, 3)), np.ones((2, 3)))
        """,
        ShapeError,
        ["x: shape (2, 3)", "y: shape (2, 3)", "line 2", "z = x @ y", ".T"],
    ),
    "a product and a sum, where the product does not fit": Case(
        """
        A, x, b = pt.dmatrix("A"), pt.dvector("x"), pt.dvector("b")
        z = A @ x + b
        phintys.function([A, x, b], z)(np.ones((2, 3)), np.ones(2), np.ones(2))
        """,
        ShapeError,
        ["Dot: the operands", "A: shape (2, 3)", "x: shape (2,)", "line 2", ".T"],
    ),
    "a product and a sum, where the sum does not fit": Case(
        """
        A, x, b = pt.dmatrix("A"), pt.dvector("x"), pt.dvector("b")
        z = A @ x + b
        phintys.function([A, x, b], z, mode="native")(np.ones((2, 3)), np.ones(3), np.ones(3))
        """,
        ShapeError,
        ["Add: the operands", "Dot(A, x): shape (2,)", "b: shape (3,)", "must be equal", "line 2"],
    ),
    "a vector for the rows of a matrix": Case(
        """
        A, b = pt.dmatrix("A"), pt.dvector("b")
        z = A * b
        phintys.function([A, b], z)(np.ones((2, 3)), np.ones(2))
        """,
        ShapeError,
        ["A: shape (2, 3)", "must be equal", "write b[:, None]", "line 2"],
    ),
    "a singular matrix in one step of a loop": Case(
        """
        A = pt.dmatrix("A")
        rows = phintys.scan(lambda i: pt.linalg.inv(A - i * np.eye(2)), [pt.arange(9.0)])
        phintys.function([A], rows)(np.diag([20.0, 4.0]))
        """,
        np.linalg.LinAlgError,
        ["singular", "In step 4 of", "the first is step 0", "line 2"],
    ),
    "an array in place of a variable": Case(
        """
        x = pt.dvector("x")
        phintys.grad((x**2).sum(), np.ones(3))
        """,
        TypeContractError,
        ["wrt must be a symbolic variable", "ndarray", "no graph to differentiate"],
    ),
    "a constant as an input": Case(
        """
        one = pt.constant(1.0)
        phintys.function([one], one + 1)
        """,
        ArgumentError,
        ["cannot be an input", "x = constant.type('x')"],
    ),
    "an index beyond a size": Case(
        """
        x = pt.vector("x")
        y = x[5]
        phintys.function([x], y)([1.0])
        """,
        IndexingError,
        ["index 5", "size 1", "line 2", "y = x[5]"],
    ),
    "an index of an array beyond a size": Case(
        """
        x, i = pt.vector("x"), pt.lvector("i")
        y = x[i]
        phintys.function([x, i], y)([1.0], [0, 4])
        """,
        IndexingError,
        ["index 4", "size 1", "line 2"],
    ),
    "a reshape that does not fit": Case(
        """
        x = pt.matrix("x")
        y = x.reshape((2, 2))
        phintys.function([x], y)(np.ones((3, 3)))
        """,
        ShapeError,
        ["(3, 3)", "(2, 2)", "line 2", "y = x.reshape((2, 2))"],
    ),
    "the largest of nothing": Case(
        """
        x = pt.vector("x")
        y = x.max()
        phintys.function([x], y)([])
        """,
        ShapeError,
        ["(0,)", "no element", "line 2"],
    ),
    "a negative size at run time": Case(
        """
        n = pt.lscalar("n")
        y = pt.zeros((n,))
        phintys.function([n], y)(-3)
        """,
        ShapeError,
        ["-3", "line 2", "y = pt.zeros((n,))"],
    ),
    "stacking vectors of different sizes": Case(
        """
        x, y = pt.vectors("x", "y")
        z = pt.stack([x, y])
        phintys.function([x, y], z)([1.0], [1.0, 2.0])
        """,
        ShapeError,
        ["shape (1, 1)", "shape (1, 2)", "line 2"],
    ),
}

OP = """
class Mine(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

"""


def op(body, *program):
    """Return a program with an Op of one's own, which has the given body besides ``make_node``."""
    return OP + textwrap.indent(body, "    ") + "\n\nx = pt.dvector('x')\n" + "\n".join(program)


CALL = "phintys.function([x], Mine()(x))([1.0])"
GRAD = "phintys.grad(Mine()(x).sum(), x)"

OPS = {
    "no perform": Case(
        op("", CALL), MethodNotDefinedError, ["Mine has no perform", "output_storage", CALL]
    ),
    "no grad": Case(
        op("", GRAD), MethodNotDefinedError, ["Mine does not define grad", "L_op", GRAD]
    ),
    "perform returns": Case(
        op("def perform(self, node, inputs, output_storage): return inputs[0]", CALL),
        OpContractError,
        ["Mine.perform", "nothing", "output_storage[0][0]", CALL],
    ),
    "perform resizes a cell": Case(
        op("def perform(self, node, inputs, output_storage): output_storage[0].append(1)", CALL),
        OpContractError,
        ["Mine.perform", "resize", "output_storage[0][0] = result"],
    ),
    "perform gives another dtype": Case(
        op(
            "def perform(self, node, inputs, output_storage):\n"
            "    output_storage[0][0] = inputs[0].astype('float32')",
            CALL,
        ),
        OpContractError,
        ["Mine.perform", "Vector(float64", "float32", "make_node"],
    ),
    "perform fails": Case(
        op(
            "def perform(self, node, inputs, output_storage):\n"
            "    output_storage[0][0] = inputs[0] / wrong",
            CALL,
        ),
        NameError,
        ["'wrong'", "While computing Mine(x)", CALL, "shape (1,)"],
    ),
    "grad returns a variable": Case(
        op("def grad(self, inputs, output_grads): return output_grads[0]", GRAD),
        OpContractError,
        ["Mine.grad", "list", "return [gx]", GRAD],
    ),
    "grad returns too many": Case(
        op("def grad(self, inputs, output_grads): return output_grads * 2", GRAD),
        OpContractError,
        ["Mine.grad", "2 gradients", "1 input", GRAD],
    ),
    "grad returns integers": Case(
        op("def grad(self, inputs, output_grads): return [pt.constant([1])]", GRAD),
        OpContractError,
        ["Mine.grad", "integer", "int64", "config.floatX", GRAD],
    ),
    "grad returns a value": Case(
        op("def grad(self, inputs, output_grads): return [1.0]", GRAD),
        OpContractError,
        ["Mine.grad", "Variables", "1.0", "input 0", GRAD],
    ),
    "infer_shape of another rank": Case(
        op(
            "def perform(self, node, inputs, output_storage): output_storage[0][0] = inputs[0]\n"
            "def infer_shape(self, fgraph, node, shapes): return [()]",
            "phintys.function([x], Mine()(x).shape)([1.0])",
        ),
        OpContractError,
        ["Mine.infer_shape", "1 size", "()"],
    ),
    "make_node returns no node": Case(
        """
        class Mine(Op):
            def make_node(self, x):
                return x

        Mine()(pt.vector("x"))
        """,
        OpContractError,
        ["Mine.make_node", "Apply", "got x"],
    ),
    "a variable for a list": Case(
        """
        x = pt.tensor("x", shape=(3,))
        Apply(Op(), x, [x.type()])
        """,
        OpContractError,
        ["inputs", "list", "Write [x]"],
    ),
    "a value for a variable": Case(
        """
        x = pt.vector("x")
        Apply(Op(), [3], [x.type()])
        """,
        OpContractError,
        ["inputs", "3", "int", "as_tensor_variable"],
    ),
    "one name in __props__": Case(
        """
        class Mine(Op):
            __props__ = "axis"
        """,
        OpContractError,
        ["Mine.__props__", "tuple", "('axis',)"],
    ),
    "a name in __props__ that is not set": Case(
        """
        class Mine(Op):
            __props__ = ("axis",)

        {Mine(): 1}
        """,
        AttributeError,
        ["Mine.__props__", "'axis'", "self.axis", "__init__"],
    ),
    "a list in __props__": Case(
        """
        class Mine(Op):
            __props__ = ("axes",)
            axes = [0, 1]

        {Mine(): 1}
        """,
        OpContractError,
        ["hashable", "axes=[0, 1]", "tuple"],
    ),
    "a Type without filter": Case(
        """
        x = Type()("x")
        phintys.function([x], x)(3)
        """,
        MethodNotDefinedError,
        ["filter(value, strict=False, allow_downcast=None)", "index 0 ('x')"],
    ),
    "a constant that does not fit": Case(
        "Constant(phintys.scalar.int8, 300)", TypeError, ["300", "int8"]
    ),
}

CONTROL = {
    "a vector as condition": Case(
        """
        x = pt.dvector("x")
        y = phintys.ifelse(x > 0, x, -x)
        """,
        ShapeError,
        ["single truth value", "Vector(bool", ".any()", "pt.switch(condition, x, y)"],
    ),
    "sides of different ranks": Case(
        """
        x = pt.dvector("x")
        total = x.sum()
        y = phintys.ifelse(total > 0, total, x)
        """,
        ShapeError,
        ["Value 0", "Scalar(float64)", "Vector(float64", "line 2", "the same rank"],
    ),
    "sides of different dtypes": Case(
        """
        n, x = pt.lscalar("n"), pt.dscalar("x")
        y = phintys.ifelse(x > 0, n, x)
        """,
        DtypeError,
        ["int64", "float64", "then.astype('float64')"],
    ),
    "a list on one side": Case(
        "phintys.ifelse(True, [pt.dscalar()], pt.dscalar())",
        ArgumentError,
        ["both variables or both lists"],
    ),
    "an Op of a graph without one of its inputs": Case(
        """
        x, y = pt.dvectors("x", "y")
        op = phintys.OpFromGraph([x], [x * y])
        """,
        MissingInputError,
        ["depend on y", "not among its inputs (x)", "Add it to the inputs"],
    ),
    "an Op of a graph, with too few inputs": Case(
        """
        x, y = pt.dvectors("x", "y")
        op = phintys.OpFromGraph([x, y], [x * y], name="product")
        z = op(x)
        """,
        ArgumentError,
        ["product takes 2 inputs, got 1: (x)"],
    ),
    "a gradient of one's own without a rule": Case(
        """
        @phintys.gradient.custom_gradient
        def square(x):
            return x**2
        y = square(pt.dscalar("x"))
        """,
        ArgumentError,
        ["square has no gradient", "square.defvjp(fwd, bwd)", "line 1"],
    ),
    "too few gradients for the arguments": Case(
        """
        @phintys.gradient.custom_gradient
        def product(x, y):
            return x * y, lambda g: g * y
        x, y = pt.dscalars("x", "y")
        z = product(x, y)
        slope = phintys.grad(z, x)
        """,
        GradientError,
        ["a tuple of 2 gradients", "it returned 1", "None stands for zeros", "line 3", "line 5"],
    ),
    "a gradient of another rank": Case(
        """
        @phintys.gradient.custom_gradient
        def total(x):
            return x.sum(), lambda g: g
        x = pt.dvector("x")
        slope = phintys.grad(total(x), x)
        """,
        GradientError,
        ["The gradient for x", "the rank of x", "pt.ones_like(x)", "line 3", "line 5"],
    ),
    "a residual that is not a variable": Case(
        """
        @phintys.gradient.custom_gradient
        def f(x):
            return 2 * x
        f.defvjp(lambda x: (2 * x, "twice"), lambda kind, g: (2 * g,))
        x = pt.dscalar("x")
        slope = phintys.grad(f(x), x)
        """,
        GradientError,
        ["residuals", "'twice' of type str", "nondiff_argnums", "line 4", "line 6"],
    ),
    "a variable instead of a function to recompute": Case(
        """
        x = pt.dvector("x")
        y = phintys.gradient.checkpoint(pt.exp(x))
        """,
        ArgumentError,
        ["decorator of functions", "checkpoint(f)(x)"],
    ),
    "a function to recompute that returns nothing": Case(
        """
        @phintys.gradient.checkpoint
        def layer(x):
            pt.tanh(x)
        y = layer(pt.dvector("x"))
        """,
        ArgumentError,
        ["layer returned None", "line 1"],
    ),
}

BATCHING = {
    "a list instead of replacements": Case(
        """
        x = pt.dvector("x")
        pt.vectorize_graph(x.sum(), [x])
        """,
        ArgumentError,
        ["mapping", "{x: xs}"],
    ),
    "a name instead of a variable to batch": Case(
        """
        x, xs = pt.dvector("x"), pt.dmatrix("xs")
        pt.vectorize_graph(x.sum(), {"x": xs})
        """,
        ArgumentError,
        ["variables of the graph", "'x'", "str"],
    ),
    "a compiled function instead of a graph": Case(
        """
        x, xs = pt.dvector("x"), pt.dmatrix("xs")
        pt.vectorize_graph(phintys.function([x], x.sum()), {x: xs})
        """,
        ArgumentError,
        ["variable or a list of variables", "Function"],
    ),
    "a batch of another dtype": Case(
        """
        x, xs = pt.dvector("x"), pt.fmatrix("xs")
        pt.vectorize_graph(x.sum(), {x: xs})
        """,
        TypeContractError,
        ["float32", "float64", 'astype("float64")'],
    ),
    "a batch with fewer axes than an item": Case(
        """
        x, xs = pt.dmatrix("x"), pt.dvector("xs")
        pt.vectorize_graph(x.sum(), {x: xs})
        """,
        ShapeError,
        ["must have the 2 axes", "before them"],
    ),
    "a batch of items of another size": Case(
        """
        x, xs = pt.tensor("x", shape=(3,)), pt.tensor("xs", shape=(5, 4))
        pt.vectorize_graph(x.sum(), {x: xs})
        """,
        ShapeError,
        ["shape=(5, 4)", "last 1 sizes", "axis 0"],
    ),
    "batches of different known sizes": Case(
        """
        x, y = pt.dvectors("x", "y")
        z = pt.concatenate([x, y])
        xs, ys = pt.tensor("xs", shape=(2, None)), pt.tensor("ys", shape=(3, None))
        pt.vectorize_graph(z, {x: xs, y: ys})
        """,
        ShapeError,
        ["batches of its inputs", "(2,)", "(3,)", "line 2"],
    ),
    "batches of different sizes at run time": Case(
        """
        x, y = pt.dvectors("x", "y")
        z = x @ y
        xs, ys = pt.dmatrices("xs", "ys")
        zs = pt.vectorize_graph(z, {x: xs, y: ys})
        phintys.function([xs, ys], zs)(np.ones((2, 3)), np.ones((4, 3)))
        """,
        ShapeError,
        ["2", "4", "line 2"],
    ),
    "items that select different numbers of elements": Case(
        """
        x, xs = pt.dvector("x"), pt.dmatrix("xs")
        positive = x[x > 0]
        found = pt.vectorize_graph(positive, {x: xs})
        phintys.function([xs], found, mode="reference")([[1.0, -1.0], [2.0, 2.0]])
        """,
        ShapeError,
        ["(1,)", "(2,)", "step 1", "must be the same", "line 2"],
    ),
    "a value instead of a function to vectorize": Case(
        "pt.vectorize(pt.dvector('x').sum())", ArgumentError, ["function", "vectorize_graph"]
    ),
    "a signature that is not one": Case(
        'pt.vectorize(lambda x: x.sum(), "n -> ()")',
        ArgumentError,
        ["'(m,n),(n)->(m)'", "'n -> ()'", "in parentheses"],
    ),
    "more arguments than a signature has": Case(
        """
        f = pt.vectorize(lambda x, y: x @ y, "(n)->()")
        f(pt.dmatrix("x"), pt.dmatrix("y"))
        """,
        ArgumentError,
        ["1 arguments", "'(n)->()'", "got 2"],
    ),
    "an argument without the core axes": Case(
        'pt.vectorize(lambda x: x.sum(), "(m,n)->()")(pt.dvector("x"))',
        ShapeError,
        ["Argument 0", "(m,n)", "rank 2 or more", "Vector(float64"],
    ),
    "core axes of different sizes": Case(
        'pt.vectorize(lambda x, y: x @ y, "(n),(n)->()")(np.ones((5, 3)), np.ones((5, 4)))',
        ShapeError,
        ["axis n", "size 4", "size 3", "argument 0"],
    ),
    "a result that is unlike the signature": Case(
        'pt.vectorize(lambda x: 2 * x, "(n)->()")(pt.dmatrix("x"))',
        ArgumentError,
        ["Result 0", "()", "rank 1"],
    ),
    "a function of values to vectorize": Case(
        'pt.vectorize(lambda x: str(x), "(n)->()")(pt.dmatrix("x"))',
        TypeContractError,
        ["result 0", "variables for one item"],
    ),
    "an Op without a signature": Case(
        "pt.Blockwise(pt.Dot())", ArgumentError, ["signature of Dot", "gufunc_signature"]
    ),
    "a function instead of an Op to apply blockwise": Case(
        'pt.Blockwise(np.median, "(n)->()")', ArgumentError, ["applies an Op", "pt.vectorize"]
    ),
    "a signature that does not fit its Op": Case(
        'pt.Blockwise(pt.Dot(), "(m,n),(n)->()")(pt.dmatrix("x"), pt.dvector("y"))',
        OpContractError,
        ["Dot returns Vector", "by the signature"],
    ),
}

CASES = {
    f"{kind}: {name}": case
    for kind, cases in {
        "variables": VARIABLES,
        "compiling": COMPILING,
        "calls": CALLS,
        "ops": OPS,
        "control": CONTROL,
        "batching": BATCHING,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_explained(name):
    check(CASES[name])


def check(case):
    """Run the program of a case, and look for the pieces in the message of its error."""
    program, error, fragments = case
    source = textwrap.dedent(program).strip() + "\n"
    filename = "program.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {
        "np": np,
        "phintys": phintys,
        "pt": pt,
        "Apply": Apply,
        "Constant": Constant,
        "FunctionGraph": FunctionGraph,
        "Op": Op,
        "Type": Type,
    }
    with pytest.raises(error) as caught:
        exec(compile(source, filename, "exec"), names)
    message = "".join(traceback.format_exception_only(caught.value))
    missing = [fragment for fragment in fragments if fragment not in message]
    assert not missing, message
