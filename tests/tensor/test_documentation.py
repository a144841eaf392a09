"""Each public function has a text in sections; elementwise ones also a domain of their own."""

import doctest
import inspect
import io
import itertools
import pickle
import pydoc
import sys

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.tensor.constructors import Several
from phintys.testing.scalar_domains import DOMAINS
from tests.documented import lacks, sections_of

FUNCTIONS = {
    name: value for name in pt.__all__ if isinstance(value := getattr(pt, name), pt.Elemwise)
}
ROWS = {name: row for name, row in ps.SCALAR_OPS.items() if not isinstance(row, ps.Cast)}

NAMESPACES = {
    "pt": pt,
    "pt.fft": pt.fft,
    "pt.linalg": pt.linalg,
    "pt.signal": pt.signal,
    "pt.special": pt.special,
}
WRITTEN = {
    f"{place}.{name}": value
    for place, namespace in NAMESPACES.items()
    for name in dir(namespace)
    if not name.startswith("_")
    and inspect.isfunction(inspect.unwrap(value := getattr(namespace, name)))
}
"""The functions that are not generated from a table."""


def test_functions_are_found():
    assert len({id(function) for function in WRITTEN.values()}) > 350
    assert {"pt.sum", "pt.nanstd", "pt.linalg.solve", "pt.fft.rfft", "pt.shared"} <= WRITTEN.keys()


@pytest.mark.docstrings
@pytest.mark.parametrize("name", WRITTEN)
def test_a_function_says_what_it_takes_and_returns(name):
    assert lacks(WRITTEN[name]) == []


@pytest.mark.docstrings
def test_constructors_of_several_variables_say_what_they_take_and_return():
    assert lacks(Several.__call__) == []


@pytest.mark.docstrings
def test_the_device_is_described_where_it_is_taken():
    for function in (pt.zeros, pt.arange, pt.fft.fftfreq):
        parameters = sections_of(function.__doc__)["Parameters"]
        assert parameters.rstrip().splitlines()[-2] == "device"


def test_there_are_as_many_as_ever():
    assert len({id(function) for function in FUNCTIONS.values()}) > 110


def test_signatures():
    for function in FUNCTIONS.values():
        check_signature(function)


def check_signature(function):
    row = function.scalar_op
    signature = inspect.signature(function)
    operands = [p for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    assert [p.name for p in operands] == list(row.parameters)
    arguments = [pt.dscalar() for _ in range(abs(row.nin))]
    signature.bind(*arguments, name="out")
    with pytest.raises(TypeError):
        signature.bind(*arguments[1:])
    if row.nin > 0:
        with pytest.raises(TypeError):
            signature.bind(*arguments, 1.0)
    else:
        signature.bind(*arguments, 1.0, 2.0)


def test_names_and_modules():
    for function in FUNCTIONS.values():
        assert getattr(pt, function.__name__) is function
        assert function.__qualname__ == function.__name__
        assert function.__module__ == "phintys.tensor"
        assert function.__doc__.startswith(f"{function.__name__}(")


def test_texts_are_those_of_the_rows():
    for row in ROWS.values():
        assert row.doc.endswith("."), row
        assert row.__doc__ == row.doc
        text = pt.Elemwise(row).__doc__
        assert row.doc in text
        for parameter in row.parameters:
            assert f"{parameter}," in text or f"{parameter} :" in text
        assert ("Defined for" in text) == bool(row.domain)


def test_texts_differ():
    assert len({row.doc for row in ROWS.values()}) == len(ROWS)


def test_examples_run():
    told = io.StringIO()
    for name, row in ROWS.items():
        function = getattr(pt, name, None)
        if getattr(function, "scalar_op", None) is not row:
            function = pt.Elemwise(row)
        parsed = doctest.DocTestParser().get_doctest(function.__doc__, {}, name, None, 0)
        assert any(example.want for example in parsed.examples)
        with phintys.config.change_flags(mode="reference"):
            doctest.DocTestRunner(verbose=False).run(parsed, out=told.write)
    assert not told.getvalue()


POINTS = (-2.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.domain])
def test_the_domain_is_where_values_are_finite(name):
    row = ROWS[name]

    def defined(*values):
        return eval(row.domain, dict(zip(row.parameters, values, strict=True)))

    for corner in itertools.product(*DOMAINS[name].intervals):
        assert defined(*corner), corner
    outside = [p for p in itertools.product(POINTS, repeat=row.nin) if not defined(*p)]
    assert outside
    with np.errstate(all="ignore"):
        for point in outside:
            assert not np.isfinite(row.impl(*map(np.float64, point))), point


def test_help_is_about_the_function():
    text = pydoc.render_doc(pt.exp, renderer=pydoc.plaintext)
    assert "exp(x, /, *, name=None)" in text
    assert "the exponential" in text
    assert "Apply a scalar op to each element" not in text


def test_the_class_has_its_own():
    if sys.flags.optimize < 2:
        assert pt.Elemwise.__doc__.startswith("Apply a scalar op to each element")
    assert list(inspect.signature(pt.Elemwise).parameters) == [
        "scalar_op",
        "inplace_pattern",
        "name",
    ]
    assert pt.Elemwise.__name__ == "Elemwise"
    x = ps.float64("x")
    composed = pt.Elemwise(ps.Composite([x], [ps.exp(x) + 1]))
    assert composed.__doc__ == pt.Elemwise.__doc__


def test_twins_that_overwrite_say_so():
    twin = pt.inplace.sub_inplace
    assert (twin.__name__, twin.__module__) == ("sub_inplace", "phintys.tensor.inplace")
    assert "The result overwrites x1." in twin.__doc__
    assert "Examples" not in twin.__doc__


def test_copies_keep_their_documentation():
    twin = pickle.loads(pickle.dumps(pt.exp))
    assert twin == pt.exp
    assert twin.__doc__ == pt.exp.__doc__


def test_a_row_of_ones_own_is_documented_too():
    row = ps.FloatRow("test_documentation_log", lambda x: np.log(2 * x), doc="Log.", domain="x > 0")
    text = pt.Elemwise(row).__doc__
    assert "Log." in text
    assert "Defined for x > 0;" in text
    assert ">>> pt.Elemwise(test_documentation_log)([0.5, 1.0])" in text
