"""Small Types and Ops that the tests of the graph room share, and random graphs of them."""

from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from phintys.graph import Apply, Op, SharedVariable, Type, toposort


class Kind(Type):
    """A Type of any values, equal to others of its name."""

    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def filter(self, value, strict=False, allow_downcast=None):
        return value

    def __str__(self):
        return self.name


class Wide(Kind):
    """A Type that takes what is of its own kind or of narrower ones."""

    __props__ = ("name", "width")

    def __init__(self, name, width):
        super().__init__(name)
        self.width = width

    def is_super(self, other):
        return isinstance(other, Wide) and other.name == self.name and other.width <= self.width

    def in_same_class(self, other):
        return isinstance(other, Wide) and other.name == self.name

    def convert_variable(self, variable):
        if isinstance(variable.type, Kind) and variable.type.name == f"{self.name}-convertible":
            return Named("convert", out_type=self)(variable)
        return super().convert_variable(variable)


number = Kind("number")
other_number = Kind("other number")


class Named(Op):
    """An Op with a name, any number of inputs, and ``nout`` outputs."""

    __props__ = ("name", "nout", "out_type")

    def __init__(self, name, nout=1, out_type=None):
        self.name = name
        self.nout = nout
        self.out_type = out_type

    def make_node(self, *inputs):
        types = [variable.type for variable in inputs]
        if self.out_type is not None:
            types = [self.out_type]
        return Apply(self, inputs, [(types or [number])[0]() for _ in range(self.nout)])

    def compute(self, index, values):
        """Return a number that differs for different Ops, outputs and inputs."""
        return hash((self.name, self.nout, index, *values))

    def __str__(self):
        return self.name


class Aliasing(Named):
    """An Op that views or overwrites inputs."""

    __props__ = ("name", "nout", "views", "destroys")

    def __init__(self, name, nout=1, views=(), destroys=()):
        super().__init__(name, nout)
        self.views = views
        self.destroys = destroys
        self.view_map = {output: list(inputs) for output, inputs in views}
        self.destroy_map = {output: list(inputs) for output, inputs in destroys}


def chain(length, start, op=None):
    """Return the end of a chain of nodes."""
    op = Named("f") if op is None else op
    for _ in range(length):
        start = op(start)
    return start


def evaluate(outputs, values):
    """Return the numbers that outputs come to; ``values`` has those of the leaves."""
    values = dict(values)
    for node in toposort(outputs):
        inputs = [_value(variable, values) for variable in node.inputs]
        for index, variable in enumerate(node.outputs):
            values.setdefault(variable, node.op.compute(index, inputs))
    return [_value(variable, values) for variable in outputs]


def _value(variable, values):
    if variable in values:
        return values[variable]
    if isinstance(variable, SharedVariable):
        return variable.get_value(borrow=True)
    return variable.data


@st.composite
def dags(draw, max_nodes=12, min_nodes=0, names=("f", "g", "h")):
    """Random graphs: inputs, outputs, all variables, and a value for each input."""
    inputs = [number(f"x{i}") for i in range(draw(st.integers(1, 3)))]
    variables = list(inputs)
    if draw(st.booleans()):
        variables.append(number.make_constant(draw(st.integers(0, 2))))
    if draw(st.booleans()):
        variables.append(SharedVariable(number, draw(st.integers(0, 2)), name="shared"))
    for _ in range(draw(st.integers(min_nodes, max_nodes))):
        nout = draw(st.sampled_from([1, 1, 1, 2]))
        op = Named(draw(st.sampled_from(names)), nout)
        used = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=3))
        variables.extend(op.make_node(*used).outputs)
    outputs = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=3))
    values = {variable: 1000 + i for i, variable in enumerate(inputs)}
    return SimpleNamespace(inputs=inputs, outputs=outputs, variables=variables, values=values)


@pytest.fixture(scope="session")
def toys():
    return SimpleNamespace(
        Aliasing=Aliasing,
        Kind=Kind,
        Named=Named,
        Wide=Wide,
        chain=chain,
        dags=dags,
        evaluate=evaluate,
        number=number,
        other_number=other_number,
    )


@pytest.fixture(scope="session")
def deep():
    """A depth at which anything recursive fails."""
    return 1_500


@pytest.fixture(scope="session", params=[10_000, pytest.param(100_000, marks=pytest.mark.stress)])
def long(request):
    """The length of a chain that works everywhere; ``make stress`` has the one that is promised.

    Work that grows with the square of the length takes minutes at the shorter one too.
    """
    return request.param


@pytest.fixture(scope="session")
def ops(toys):
    """Ops that view or overwrite inputs, and one that only reads."""
    return {
        "view": toys.Aliasing("view", views=((0, (0,)),)),
        "view2": toys.Aliasing("view2", views=((0, (0, 1)),)),
        "inplace": toys.Aliasing("inplace", destroys=((0, (0,)),)),
        "scratch": toys.Aliasing("scratch", destroys=((None, (0,)),)),
        "read": toys.Named("read"),
    }
