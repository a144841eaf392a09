"""Common mistakes with random numbers, and what the errors say."""

import pytest

from phintys._base.errors import (
    ArgumentError,
    DomainError,
    DtypeError,
    MethodNotDefinedError,
    NullGradientError,
    ShapeError,
    TypeContractError,
)
from tests.test_wrong_inputs import Case, check

SEEDS = {
    "a negative seed": Case(
        "pt.random.RandomStream(-1)", ArgumentError, ["non-negative int", "-1"]
    ),
    "a seed with a fraction": Case("pt.random.state(1.5)", ArgumentError, ["A seed is", "1.5"]),
    "a word as a seed": Case(
        'pt.random.shared_rng("seven")', ArgumentError, ["a string of digits", "'seven'"]
    ),
    "a truth value as a seed": Case("pt.random.state(True)", ArgumentError, ["A seed is", "True"]),
    "a list with a negative seed": Case(
        "pt.random.state([1, -2])", ArgumentError, ["sequence of non-negative ints", "[1, -2]"]
    ),
    "a symbolic seed": Case(
        'pt.random.shared_rng(pt.lscalar("seed"))', ArgumentError, ["A seed is", "seed"]
    ),
    "a value and a seed": Case(
        "pt.random.shared_rng(1, seed=2)", ArgumentError, ["not both", "1", "seed=2"]
    ),
    "a seed in place of a state": Case(
        """
        r = pt.random.rng("r")
        f = phintys.function([r], r.normal()[1])
        f(17)
        """,
        TypeError,
        ["state of a generator", "17", "phintys.random.state(seed)"],
    ),
    "a generator of NumPy in place of a state": Case(
        """
        r = pt.random.rng("r")
        f = phintys.function([r], r.normal()[1])
        f(np.random.default_rng(1))
        """,
        TypeError,
        ["state of a generator", "Generator(PCG64)"],
    ),
}

STATES = {
    "arithmetic on a state": Case('pt.random.rng("r") + 1', TypeError, ["+"]),
    "a stream in place of a generator": Case(
        "pt.random.normal(rng=pt.random.RandomStream(1))",
        TypeContractError,
        ["generator", "RandomStream", "shared_rng"],
    ),
    "a split into no generators": Case(
        'pt.random.rng("r").split(0)', ArgumentError, ["split", "positive int", "0"]
    ),
    "a symbolic number of generators": Case(
        'pt.random.rng("r").split(pt.lscalar("n"))', ArgumentError, ["positive int", "n"]
    ),
    "a generator folded with a float": Case(
        'pt.random.rng("r").fold_in(1.5)', DtypeError, ["integer", "1.5"]
    ),
    "a state that is stacked by a loop": Case(
        """
        r = pt.random.rng("r")
        phintys.scan(lambda: r.normal(), n_steps=3)
        """,
        TypeContractError,
        ["Output 0", "not a tensor", "outputs_info"],
    ),
    "updates that a loop would lose": Case(
        """
        r = pt.random.shared_rng(1, name="r")
        def step():
            after, draw = r.normal()
            return draw, {r: after}
        phintys.scan(step, n_steps=3, return_updates=False)
        """,
        ArgumentError,
        ["updates r", "return_updates=False", "lost"],
    ),
    "an Op whose generator moves by what it is given": Case(
        """
        from phintys.control import OpFromGraph
        x, y = pt.dvectors("x", "y")
        noise = OpFromGraph([x], [x + pt.random.RandomStream(1).normal(size=x.shape)], name="noise")
        noise(x)
        noise(y)
        """,
        ArgumentError,
        ["noise", "several inputs", "OpFromGraph([r, x], [after, draw])"],
    ),
    "an update of another type": Case(
        """
        r = pt.random.shared_rng(1, name="r")
        after, draw = r.normal()
        phintys.function([], draw, updates={r: draw})
        """,
        ArgumentError,
        ["update of the shared variable r", "RandomType"],
    ),
}

SIZES = {
    "a size with a fraction": Case(
        "pt.random.normal(size=2.5)", DtypeError, ["size of a draw", "2.5", "float"]
    ),
    "a symbolic size with a fraction": Case(
        'pt.random.normal(size=pt.dscalar("n"))', DtypeError, ["size of a draw", "n", "float64"]
    ),
    "a size of unknown length": Case(
        'pt.random.normal(size=pt.lvector("shape"))', ShapeError, ["shape", "length"]
    ),
    "parameters of more dimensions than size": Case(
        "pt.random.normal(np.zeros((2, 3)), 1.0, size=3)",
        ShapeError,
        ["Normal", "2 dimensions", "size, which has 1"],
    ),
    "parameters that do not broadcast with size": Case(
        "pt.random.normal([1.0, 2.0], 1.0, size=3)", ShapeError, ["2", "3"]
    ),
    "parameters that do not broadcast": Case(
        "pt.random.normal([1.0, 2.0], [1.0, 1.0, 1.0])", ShapeError, ["(2,)", "(3,)"]
    ),
    "a known negative size": Case(
        "pt.random.normal(size=(2, -1))",
        ShapeError,
        ["Normal: the size of a draw must not be negative", "-1"],
    ),
    "a negative size": Case(
        """
        n = pt.lscalar("n")
        f = phintys.function([n], pt.random.RandomStream(1).normal(size=n))
        f(-1)
        """,
        ShapeError,
        ["Normal: the size of a draw", "-1", "line 2"],
    ),
}

PARAMETERS = {
    "a negative scale": Case(
        "pt.random.normal(0.0, -1.0)", DomainError, ["Normal: scale must not be negative", "-1.0"]
    ),
    "a negative scale at run time": Case(
        """
        scale = pt.dscalar("scale")
        draw = pt.random.RandomStream(1).normal(0.0, scale, size=3)
        f = phintys.function([scale], draw)
        f(-2.5)
        """,
        DomainError,
        ["Normal: scale must not be negative", "'scale'", "-2.5", "line 2", "draw = "],
    ),
    "a probability above 1": Case(
        "pt.random.bernoulli(1.5)", DomainError, ["Bernoulli: p must be between 0 and 1", "1.5"]
    ),
    "some probabilities below 0 at run time": Case(
        """
        p = pt.dvector("p")
        f = phintys.function([p], pt.random.RandomStream(1).bernoulli(p))
        f([0.5, -0.25])
        """,
        DomainError,
        ["Bernoulli: p must be between 0 and 1", "-0.25", "line 2"],
    ),
    "ends the wrong way round": Case(
        "pt.random.uniform(3.0, 1.0)", DomainError, ["Uniform: high must not be below low", "1.0"]
    ),
    "ends of shapes that do not broadcast": Case(
        "pt.random.uniform([0.0, 0.0], [1.0, 1.0, 1.0])", ShapeError, ["2", "3"]
    ),
    "probabilities whose sum is not 1": Case(
        "pt.random.categorical([0.5, 0.6])",
        DomainError,
        ["Categorical: p must not be negative and have the sum 1", "[0.5 0.6]"],
    ),
    "weights whose sum is not 1 at run time": Case(
        """
        p = pt.dvector("p")
        f = phintys.function([p], pt.random.RandomStream(1).choice(3, size=2, p=p))
        f([0.5, 0.25, 0.5])
        """,
        DomainError,
        ["Choice: p must not be negative and have the sum 1", "0.25", "line 2"],
    ),
    "more than there are, without replacement": Case(
        """
        n = pt.lscalar("n")
        f = phintys.function([n], pt.random.RandomStream(1).choice(3, size=n, replace=False))
        f(4)
        """,
        ValueError,
        ["4 of 3", "line 2"],
    ),
    "a density with a negative scale": Case(
        """
        x, scale = pt.dscalars("x", "scale")
        f = phintys.function([x, scale], pt.random.logp(pt.random.Normal(0.0, scale), x))
        f(0.0, -1.0)
        """,
        DomainError,
        ["Normal: scale must not be negative", "-1.", "line 2"],
    ),
    "a parameter that there is not": Case(
        "pt.random.normal(0.0, variance=2.0)", ArgumentError, ["Normal", "variance", "loc, scale"]
    ),
    "a parameter given twice": Case(
        "pt.random.normal(0.0, 1.0, loc=2.0)", ArgumentError, ["loc is given twice", "loc, scale"]
    ),
    "too many parameters": Case(
        "pt.random.normal(0.0, 1.0, 3, 4)", ArgumentError, ["Normal", "loc, scale", "4"]
    ),
    "text as a parameter": Case('pt.random.normal("0", 1.0)', TypeError, ["'0'", "str"]),
    "integers of a continuous distribution": Case(
        'pt.random.normal(dtype="int64")', DtypeError, ["Normal are floats", "int64", "round()"]
    ),
    "the density of a draw instead of a distribution": Case(
        "pt.random.logp(pt.random.normal(), 0.0)",
        ArgumentError,
        ["a distribution such as Normal(loc, scale)"],
    ),
    "a distribution that there is not": Case(
        "pt.random.nromal()", AttributeError, ["no attribute 'nromal'"]
    ),
    "a distribution by a wrong name": Case(
        'pt.random.RandomStream(1).gen("nromal")',
        ArgumentError,
        ["gen takes", "normal", "'nromal'"],
    ),
    "a class in place of a distribution": Case(
        "pt.random.RandomStream(1).draw(3.0)", ArgumentError, ["Normal(loc, scale)", "3.0"]
    ),
}

OPS = {
    "a random variable without a signature": Case(
        'pt.random.RandomVariable("noise", dtype="float64")',
        ArgumentError,
        ["needs signature", "RandomVariable", "None"],
    ),
    "a random variable without a function": Case(
        'pt.random.RandomVariable("noise", "()->()", "float64")(1.0).eval()',
        MethodNotDefinedError,
        ["noise is not a method of numpy.random.Generator", "rng_fn(rng, *params, size)"],
    ),
    "draws of a function of another rank": Case(
        """
        class Noise(pt.random.RandomVariable):
            name, signature, dtype = "noise", "()->()", "float64"
            def rng_fn(self, rng, scale, size):
                return rng.normal(0.0, scale, (2, 3))
        noise = Noise()(1.0)
        noise.eval()
        """,
        ShapeError,
        ["rng_fn of noise", "(2, 3)", "0 axes", "line 5"],
    ),
    "a gradient through draws of a function": Case(
        """
        x = pt.dscalar("x")
        noise = pt.random.RandomVariable("normal", "(),()->()", "float64")(x, 1.0)
        phintys.grad(noise, x)
        """,
        NullGradientError,
        ["normal", "a function of Python", "draws of phintys.random", "line 2"],
    ),
}

CASES = {
    f"{kind}: {name}": case
    for kind, cases in {
        "seeds": SEEDS,
        "states": STATES,
        "sizes": SIZES,
        "parameters": PARAMETERS,
        "ops": OPS,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_explained(name):
    check(CASES[name])
