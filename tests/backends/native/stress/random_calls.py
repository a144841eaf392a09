"""A program: calls compiled functions with random arguments of every kind.

``python random_calls.py seed calls`` prints how many calls gave a result and how many an error. A
call must end as it does in the reference backend: in the same value, or in an error of the same
class. The test starts it in a process of its own, which must not die.
"""

import mmap
import random
import resource
import sys
import tempfile
import warnings

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import Apply, In, Op, Out
from phintys.tensor.type import DTYPES

MAKERS = []
MOST_BYTES = 4 << 30


def maker(function):
    MAKERS.append(function)
    return function


class Matrix(np.ndarray):
    """A subclass with nothing of its own."""


class Liar:
    """Says that it is an array, and is none."""

    def __init__(self, answer):
        self.answer = answer

    def __array__(self, dtype=None, copy=None):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Interface:
    """Says where its data lies."""

    def __init__(self, **fields):
        self.kept = np.arange(6.0)
        self.__array_interface__ = {**self.kept.__array_interface__, **fields}


# ---- values ------------------------------------------------------------------------------------


def shape(dice, most=4):
    return tuple(dice.choice((0, 1, 1, 2, 3, 3, 4)) for _ in range(dice.randrange(most)))


@maker
def any_dtype(dice):
    array = np.array([dice.randrange(4) for _ in range(24)]).astype(dice.choice(DTYPES))
    return np.resize(array, shape(dice))


@maker
def layouts(dice):
    array = any_dtype(dice)
    change = dice.randrange(7)
    if change == 0:
        array = array[(slice(None, None, -1),) * array.ndim]
    elif change == 1:
        array = np.asfortranarray(array)
    elif change == 2:
        array = array.repeat(2, axis=-1)[..., ::2] if array.ndim else array
    elif change == 3:
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        moved = raw.view(array.dtype).reshape(array.shape)
        moved[...] = array
        array = moved
    elif change == 4:
        array = np.asarray(array, array.dtype.newbyteorder())
    elif change == 5:
        array = np.broadcast_to(array, (2, *array.shape))
    else:
        array = array.T
    array = np.asarray(array)  # indexing a 0-d array gave a scalar
    array.flags.writeable = dice.random() < 0.5 and array.flags.owndata
    return array


@maker
def subclasses(dice):
    array = any_dtype(dice)
    kind = dice.randrange(5)
    if kind == 0:
        return array.view(Matrix)
    if kind == 1:
        return np.ma.MaskedArray(array, mask=dice.random() < 0.5)
    if kind == 2 and array.ndim <= 2:
        return np.asmatrix(array) if array.ndim else array
    if kind == 3:
        return array.view(np.recarray)
    return np.array(["a", "bc"]).view(np.char.chararray)


@maker
def odd_dtypes(dice):
    dtype = dice.choice(
        ("O", "U3", "S2", "M8[s]", "m8[ns]", "longdouble", "clongdouble", "V5", "f8,i4", "(2,)f8")
    )
    return np.zeros(shape(dice), dtype)


@maker
def huge_ranks(dice):
    array = np.ones((1,) * dice.choice((5, 8, 32, 33, 64)))
    return array if dice.random() < 0.5 else array[:0]


@maker
def no_memory_at_all(dice):
    length = dice.choice((0, 1, 2**31, 2**33, 2**40))
    return np.broadcast_to(np.float64(1), (0, length) if length > 1 else (length,))


@maker
def mapped(dice):
    with tempfile.TemporaryFile() as file:
        file.write(np.arange(6.0).tobytes())
        file.flush()
        if dice.random() < 0.5:
            return np.memmap(file, "float64", "r", shape=(6,))
        return np.frombuffer(mmap.mmap(file.fileno(), 48, access=mmap.ACCESS_READ), "float64")


@maker
def lists(dice):
    depth = dice.randrange(4)
    value = dice.choice((1, 2.5, True, None, "x", 1j, 2**80, np.float32(1), float("nan")))
    for _ in range(depth):
        value = dice.choice((list, tuple))([value] * dice.randrange(4))
    if dice.random() < 0.1:
        value = [[1.0], [1.0, 2.0]]
    if dice.random() < 0.05:
        value = []
        value.append(value)
    return value


@maker
def scalars(dice):
    numbers = [0, 1, -1, 2**31, -(2**63), 2**63, 2**200, 0.5, -0.0, float("inf"), 1e300, 1j, True]
    return dice.choice(numbers + [np.dtype(dtype).type(1) for dtype in DTYPES])


@maker
def objects(dice):
    plain = [None, "text", b"bytes", object(), object, len, {}, {"a": 1}, set(), range(3), ...]
    symbolic = [pt.dvector("v"), pt.constant(1.0), phintys.shared(1.0)]
    buffers = [bytearray(8), memoryview(bytes(24)), memoryview(np.ones(3))]
    others = [np.ndarray, np.dtype("f8"), slice(3), iter([1.0]), Exception("x")]
    return dice.choice(plain + symbolic + buffers + others)


@maker
def liars(dice):
    return dice.choice(
        (
            Liar(np.ones(3)),
            Liar([1.0]),
            Liar(ZeroDivisionError("mine")),
            Liar(None),
            Interface(),
            Interface(shape=(-1,)),
            Interface(typestr="<f9"),
            Interface(shape=(2, 2)),
        )
    )


def fitting(dice, type_):
    """A value of a type, or nearly."""
    lengths = [known or dice.choice((3, 3, 3, 3, 1, 0)) for known in type_.shape]
    array = np.full(lengths, dice.choice((0, 1, 2, 2.5, -1)), dtype=type_.dtype)
    return dice.choice(
        (array, array, array, array.T, np.repeat(array, 2, 0)[::2] if array.ndim else array)
    )


def value(dice, type_):
    return fitting(dice, type_) if dice.random() < 0.7 else dice.choice(MAKERS)(dice)


# ---- functions ---------------------------------------------------------------------------------


class Halve(Op):
    """An Op with only Python code."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        if inputs[0].sum() > 5:
            raise ZeroDivisionError("too much")
        output_storage[0][0] = inputs[0] / 2


def functions(mode):
    """Functions of one mode, with shared variables of their own."""
    x, y, a = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("a")
    n, i, k = pt.lscalar("n"), pt.ivector("i"), pt.zvector("k")
    b, h, r = pt.bmatrix("b"), pt.TensorType("float16", (None, 1))("h"), pt.frow("r")
    t = pt.TensorType("bool", (3,))("t")
    s, c = phintys.shared(np.ones(3), name="s"), phintys.shared(0, name="c")

    def function(inputs, outputs, **options):
        return phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore", **options)

    return [
        function([x, y], x * 2 + y),
        function([x, a], [a + x, pt.dot(a, x), a.sum(axis=0), a.T]),
        function([In(x, allow_downcast=True), In(y, value=[1.0, 2.0, 3.0])], {"p": x, "q": x - y}),
        function([In(x, strict=True)], [pt.exp(x), x.max(), pt.argmax(x)]),
        function([In(x, borrow=True)], Out(x, borrow=True)),
        function([x], x + s, updates=[(c, c + 1), (s, s + x)]),
        function([n], pt.alloc(1.5, n, 2)),
        function([n, x], [x[n], x[:n], x[n:], x[::-1]]),
        function([x, i], [x[i], pt.set_subtensor(x[i], 0.0)]),
        function([x, n, i], [x.reshape((n, 3)), pt.arange(n), i // n]),
        function([k, b], [k * k, pt.real(k), b + b, b.sum()]),
        function([h, r, t], [h * r, pt.switch(t, 1, 2), pt.concatenate([r, r])]),
        # Lengths that differ are found before Halve may raise: which of two faults that do not
        # depend on each other is met first is a backend's own choice.
        function([x, y], [Halve()(x + y) + y, Halve()(x * y)]),
        function([x, y], pt.concatenate([x, y, x])),
    ]


NAMES = ("x", "y", "a", "n", "i", "k", "b", "h", "r", "t", "s", "", "self", "é")


def arguments(dice, parameters):
    """Positional and keyword arguments of a call: mostly the right number."""
    types = [parameter.spec.variable.type for parameter in parameters]
    if dice.random() < 0.1:
        types = [*types, pt.dvector, pt.dvector][: dice.randrange(len(types) + 3)]
    args = [value(dice, type_) for type_ in types]
    kwargs = {}
    if dice.random() < 0.15:
        del args[dice.randrange(len(args) + 1) :]
        for parameter in parameters[len(args) :]:
            kwargs[parameter.name] = value(dice, parameter.spec.variable.type)
    if dice.random() < 0.05:
        kwargs[dice.choice(NAMES)] = value(dice, pt.dvector)
    if dice.random() < 0.03:
        kwargs["output_subset"] = dice.choice(([0], [], [7], "x", None, [-1], [1, 0], 3))
    return args, kwargs


def outcome(function, args, kwargs):
    try:
        return function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return error


def same(got, wanted):
    if isinstance(wanted, Exception):
        return type(got) is type(wanted)
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if not isinstance(wanted, np.ndarray):
        return got is wanted
    if type(got) is not type(wanted) or got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    return np.allclose(got, wanted, rtol=1e-6, equal_nan=True)


def main(seed, calls):
    dice = random.Random(seed)
    pairs = list(zip(functions("native"), functions("reference"), strict=True))
    results = errors = 0
    for number in range(calls):
        native, reference = dice.choice(pairs)
        args, kwargs = arguments(dice, native.signature.parameters)
        wanted = outcome(reference, args, kwargs)
        got = outcome(native, args, kwargs)
        # No program may end in an AssertionError, whatever the other backend does.
        is_broken = any(isinstance(one, AssertionError) for one in (got, wanted))
        if is_broken or not same(got, wanted):
            raise SystemExit(
                f"seed {seed}, call {number} of {native}: native {got!r}, reference {wanted!r}; "
                f"arguments {args!r}, {kwargs!r}"
            )
        results += not isinstance(wanted, Exception)
        errors += isinstance(wanted, Exception)
    sys.stdout.write(f"{results} {errors}\n")


if __name__ == "__main__":
    # Results of absurd sizes are refused at once, instead of filling the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
