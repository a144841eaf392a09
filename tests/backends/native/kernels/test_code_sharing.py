"""Kernels of one form share a function: as those do whose text turns out to be the same."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.expressions import Index, Statement
from phintys.backends.native.kernels import code_sharing as module
from phintys.backends.native.kernels.arguments import KernelNumbers, ScratchOffset
from phintys.backends.native.kernels.code_sharing import forms_of
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.writer.programs import emit_program
from phintys.backends.reference import ReferenceBackend
from phintys.graph.fgraph import FunctionGraph
from tests.budget import budget
from tools.native_programs import compile_program

v = pt.dvector("v")
X = pt.dmatrix("X")
index = pt.lvector("index")

BLOCKS = {
    "numbers": lambda y, number: pt.sin(y) * number,
    "float32": lambda y, number: pt.tanh(pt.cast(y, "float32") * np.float32(number)) + y,
    "powers of two": lambda y, number: pt.sin(y) * 2.0 ** round(number),
    "reduced": lambda y, number: pt.exp(y - y.max()) * number,
    "rows": lambda y, number: ((X - y.sum()) ** 2 * number).sum(axis=1).sum() + y,
    "gathered": lambda y, number: pt.sin(y[index]) * number + y,
    "failing": lambda y, number: y * (pt.cast(y, "int64") ** index.sum()) * number,
}
VALUES = {
    v: np.array([0.3, -0.2, 0.9]),
    X: np.array([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]]),
    index: np.array([2, 0, -1]),
}


def program_of(y):
    return lower_program(FunctionGraph(list(VALUES), [y], clone=True))


def blocks(names, numbers):
    y = v
    for name, number in zip(names, numbers, strict=True):
        y = BLOCKS[name](y, number)
    return y


def codes(program, monkeypatch=None):
    """The code of each kernel; with forms that are all different, text alone decides."""
    if monkeypatch is None:
        return list(emit_program(program, Target.host()).kernels.values())

    def apart(kernels, polynomials):
        forms = forms_of(kernels, polynomials)
        for number, form in enumerate(forms):
            form.key = (number, *form.key)
        return forms

    with monkeypatch.context() as patch:
        patch.setattr(module, "forms_of", apart)
        return list(emit_program(program, Target.host()).kernels.values())


def check_shared(program):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shared, apart = codes(program), codes(program, monkeypatch)
    functions = {}
    for one, other in zip(shared, apart, strict=True):
        assert functions.setdefault(one.symbol, other.symbol) == other.symbol
        assert [one.combiner is None, one.partials] == [other.combiner is None, other.partials]
        mine, theirs = (
            [str(slot) for slot in code.slots if not isinstance(slot, ScratchOffset)]
            for code in (one, other)
        )
        assert mine == theirs
        assert one.numbers == other.numbers
        assert [failure.node for failure in one.failures] == [
            failure.node for failure in other.failures
        ]
    return shared


@budget(25)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(BLOCKS)), st.floats(0.25, 2.0, width=32)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([1, 3, 48]),
)
def test_a_form_says_all_that_the_code_depends_on(chosen, most):
    y = blocks(*zip(*chosen, strict=True))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("phintys.backends.native.kernels.fusion.MOST_STATEMENTS", most)
        program = program_of(y)
    check_shared(program)


@pytest.mark.parametrize("name", sorted(set(BLOCKS) - {"failing"}))
def test_programs_that_repeat_themselves(name):
    numbers = [0.75, 1.5, 0.3, 0.7, 1.1, 0.9]
    y = blocks([name] * 6, numbers)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("phintys.backends.native.kernels.fusion.MOST_STATEMENTS", 2)
        program = program_of(y)
    shared = check_shared(program)
    assert len({code.symbol for code in shared}) < len(shared)
    values = list(VALUES.values())
    (wanted,) = ReferenceBackend().link(FunctionGraph(list(VALUES), [y], clone=True))(values)
    (got,) = compile_program(program, Target.host())(*values)
    np.testing.assert_allclose(got, wanted, rtol=1e-12 if name != "float32" else 1e-6)


def test_numbers_that_differ_are_read_from_a_table():
    y = blocks(["numbers"] * 4, [0.75, 0.3, 0.75, 0.75])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("phintys.backends.native.kernels.fusion.MOST_STATEMENTS", 2)
        program = program_of(y)
    shared = codes(program)
    assert len({code.symbol for code in shared}) == 1
    assert [np.frombuffer(b"".join(code.numbers)).tolist() for code in shared] == [
        [0.75],
        [0.3],
        [0.75],
        [0.75],
    ]
    assert all(KernelNumbers() in code.slots for code in shared)


def test_numbers_that_are_the_same_stay_in_the_code():
    y = blocks(["numbers"] * 4, [0.3] * 4)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("phintys.backends.native.kernels.fusion.MOST_STATEMENTS", 2)
        program = program_of(y)
    assert all(not code.numbers for code in codes(program))


def test_powers_of_two_make_other_forms():
    program = program_of(blocks(["numbers"], [0.3]))
    other = program_of(blocks(["numbers"], [0.5]))
    keys = []
    for one in (program, other):
        kernels = [step for step in one.steps if isinstance(step, Kernel)]
        keys.append([form.key for form in forms_of(kernels, Polynomials(one.sizes))])
    assert [len(found) for found in keys] == [1, 1]
    assert "any" in keys[0][0]
    assert "any" not in keys[1][0]


def test_forms_know_the_program():
    """Whoever adds to statements or indices adds to forms."""
    assert {field.name for field in fields(Statement)} - {"nodes", "needs"} == {
        "target",
        "indices",
        "value",
        "loops",
        "reduction",
        "reducer",
        "accumulate",
        "sequential",
        "is_grouped",
    }
    assert {field.name for field in fields(Index)} == {"terms", "offset", "dynamic"}
    assert {field.name for field in fields(Kernel)} == {"outer", "nests", "local"}


OF_ANY_SIZE = {
    "numbers": lambda m, number: pt.sin(m) * number,
    "totals": lambda m, number: pt.exp(m * number).sum(),
    "rows": lambda m, number: pt.softmax(m * number, axis=1),
    "columns": lambda m, number: (m * number).sum(axis=0) + m[0],
    "outer": lambda m, number: m[0][:, None] * m.sum(axis=0)[None, :] * number,
    "gathered": lambda m, number: m[index % m.shape[0]] * number,
    "sizes": lambda m, number: m * m.shape[1] + number,
}


@budget(20)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(OF_ANY_SIZE)),
            st.floats(0.25, 2.0, width=32),
            st.integers(1, 20),
            st.integers(1, 20),
        ),
        min_size=2,
        max_size=6,
    )
)
def test_forms_are_about_any_sizes(chosen):
    matrices = [pt.dmatrix(f"m{number}") for number in range(len(chosen))]
    outputs = [
        OF_ANY_SIZE[name](matrix, number)
        for matrix, (name, number, _, _) in zip(matrices, chosen, strict=True)
    ]
    graph = FunctionGraph([*matrices, index], outputs, clone=True)
    program = lower_program(graph)
    check_shared(program)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(rows, columns)) for _, _, rows, columns in chosen]
    arguments = [*values, VALUES[index]]
    wanted = ReferenceBackend().link(graph)(arguments)
    for one, other in zip(compile_program(program, Target.host())(*arguments), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_kernels_about_other_sizes_share_a_function():
    vectors = [pt.dvector(f"v{number}") for number in range(5)]
    outputs = [pt.tanh(x * x).sum() for x in vectors]
    shared = check_shared(lower_program(FunctionGraph(vectors, outputs, clone=True)))
    assert len(shared) > len({code.symbol for code in shared}) == 1


def test_checked_indices_of_a_known_number_are_part_of_the_form():
    """Both kernels write 1.5, and each reads and checks an index of its own."""
    one = pt.constant([1.5])
    x, y = (pt.tensor(name, dtype="float64", shape=(1,)) for name in "xy")
    places = pt.argsort(x), pt.argsort(y, stable=True)
    f = phintys.function([x, y], [one[place] for place in places], mode="native")
    np.testing.assert_array_equal(f([3.0], [2.0]), [[1.5], [1.5]])
