"""Random graphs: native code against the reference backend; and the fuzzer itself."""

import contextlib
import doctest
import io

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import DtypeError, IndexingError, IntegrityError, ShapeError
from phintys.backends.native.assembler.target import Target
from phintys.backends.reference import ReferenceBackend
from phintys.testing._trial import evaluate
from tools import fuzz
from tools.fuzz import GENERAL, Case, check, check_seed, draw, shrunk
from tools.fuzz.case import Given, Step
from tools.fuzz.command import main
from tools.fuzz.drawing import Drawing, Text
from tools.fuzz.errors import possible_errors
from tools.fuzz.modes import STRICT, Variant
from tools.fuzz.noise import Noise, difference


@pytest.mark.docstrings
def test_examples():
    outcome = doctest.testmod(fuzz)
    assert outcome.attempted
    assert not outcome.failed


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, 100, 10))
def test_native_code_agrees_with_the_reference(start):
    for seed in range(start, start + 10):
        found = check_seed(seed)
        assert found is None, str(found)


def test_ways_for_other_cpus_are_left_out(monkeypatch):
    lacking = Variant("another CPU", target="aarch64" if is_x86() else "x86-64-v2")
    assert not lacking.runs_here
    assert STRICT.runs_here
    monkeypatch.setattr("tools.fuzz.checking.VARIANTS", (lacking,))
    assert check_seed(0) is None


def is_x86():
    return Target.host().triple.startswith(("x86_64", "amd64"))


def test_a_seed_names_one_case():
    for seed in range(5):
        assert draw(seed).program("None") == draw(seed).program("None")
    assert draw(1).program("None") != draw(2).program("None")


DRAWN = (
    *("pt.sum(", "pt.argmax(", "pt.softmax(", "pt.cumsum(", "pt.sort(", "pt.concatenate("),
    *("pt.split(", "pt.set_subtensor(", "pt.inc_subtensor(", "np.array([True", ".reshape("),
    *("pt.dot(", "pt.cast(", "pt.eye(", "pt.arange(", "pt.alloc(", "pt.switch(", ".shape"),
    *("gradient.grad(", "gradient.Rop(", "user_ops.zeroed(", "user_ops.composite("),
    *("dimshuffle(", "pt.specify_shape(", "pt.broadcast_to(", "pt.repeat(", "pt.gammaln("),
    *("blas.Gemm(", "loop_ops.decayed(", "loop_ops.folded(", "loop_ops.windowed("),
    *("loop_ops.stopped(", "loop_ops.nested(", "loop_ops.halved(", "loop_ops.chosen("),
)


def test_all_families_are_drawn():
    cases, missing = [], set(DRAWN)
    for seed in range(800):
        cases.append(draw(seed))
        missing -= {name for step in cases[-1].steps for name in missing if name in step.text}
        if not missing and seed >= 200:
            break
    assert not missing
    givens = [given for case in cases for given in case.givens]
    assert {given.dtype for given in givens} == set(pt.type.DTYPES)
    assert {True, False} == {given.update is None for given in givens}
    assert {0, 1, 2, 3} <= {given.values[0].ndim for given in givens}
    assert any(0 in given.values[0].shape for given in givens)


def test_inputs_are_never_large():
    """Of 520 x 520 x 520 numbers, drawing alone took minutes."""
    for seed in [*range(100), 280000498]:
        drawing = Drawing(seed)
        drawing.lengths[0] = 520
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(drawing, "array", lambda dtype, shape, **_: np.empty(shape, dtype))
            drawing.make_inputs()
        assert max(entry.value.size for entry in drawing.pool) <= 1_000_000


@pytest.mark.parametrize(
    "text", ["pt.alloc({0}[0], 2**11, 2**11).sum()", "pt.eye({0}.shape[0] * 700).sum()"]
)
def test_lines_with_a_large_value_inside_are_left_out_before_it_is_computed(text, monkeypatch):
    drawing = Drawing(3)
    entry = drawing.add_given(Given("x0", (None,), (np.ones(3),)))
    assert drawing.apply(Text(text.replace("2**11", "9").replace("700", "3"), (entry,)))
    sizes = []

    def watched(outputs, known):
        evaluate(outputs, known)
        sizes.extend(np.size(known[one]) for one in outputs)

    monkeypatch.setattr("tools.fuzz.drawing.evaluate", watched)
    assert not drawing.apply(Text(text, (entry,)))
    assert drawing.failing is None
    assert max(sizes, default=0) <= 1_000_000


def case_of(value, *lines, outputs=("b",), calls=1):
    """A case of one input, ``a``, and lines of which each uses the one before."""
    names = ("a", "b", "c", "d")
    steps = [
        Step((name,), line.format(before), (before,))
        for before, name, line in zip(names, names[1:], lines, strict=False)
    ]
    given = Given("a", (None,) * value.ndim, (value,) * calls)
    return Case(0, (given,), tuple(steps), outputs, calls)


class Wrong:
    """A backend that adds 1 to the sine of everything."""

    name = "wrong"

    def link(self, fgraph, *, profiler=None):
        program = ReferenceBackend().link(fgraph)
        has_sine = any("Sin" in str(node.op) for node in fgraph.apply_nodes)

        class Program:
            def __call__(self, inputs):
                return [value + has_sine for value in program(inputs)]

            def free(self):
                pass

        return Program()


WRONG = Variant("wrong", Wrong(), "none")


def test_disagreements_are_found_and_made_smaller():
    value = np.linspace(0, 1, 6).reshape(2, 3)
    case = case_of(value, "pt.exp({})", "pt.sin({})", "pt.sqrt({})", outputs=("d", "b"), calls=2)
    found = check(case, [WRONG])
    assert (found.blame, found.kind) == ("backend", "values")
    assert "seed 0: wrong (backend): call 0: d: element [0, 0] is" in str(found)
    small = shrunk(found, GENERAL)
    assert [step.text for step in small.case.steps] == ["pt.sin(b)"]
    assert (small.case.calls, small.case.outputs) == (1, ("c",))


class Raising:
    """A backend whose programs raise an error."""

    name = "raising"

    def __init__(self, error):
        self.error = error

    def link(self, fgraph, *, profiler=None):
        error = self.error

        class Program:
            def __call__(self, inputs):
                raise error

            def free(self):
                pass

        return Program()


def raising(error):
    return Variant("raising", Raising(error), "none")


def test_errors_of_one_graph_may_be_raised_in_any_order():
    value = np.arange(3.0)
    case = case_of(
        value, "pt.sin({})[np.array([7])]", "a + a[:2]", "pt.sqrt({})", outputs=("b", "c")
    )
    for error in (IndexingError("7"), ShapeError("3 and 2")):
        assert check(case, [raising(error)]) is None
    found = check(case, [raising(DtypeError("no"))])
    assert (found.blame, found.kind) == ("backend", "DtypeError")


def test_lengths_are_compared_before_an_index_is_looked_up():
    value = np.arange(3.0)
    case = case_of(value, "{}[pt.cast(a, 'int64') + 5]", "{} + a[:2]", outputs=("c",))
    built = case.build()
    assert possible_errors(built.results, built.known(0)) == {IndexingError, ShapeError}
    assert check(case, [raising(ShapeError("3 and 2"))]) is None
    case = case_of(value, "{}[pt.cast(a, 'int64') + 5]", "{} + a", outputs=("c",))
    assert check(case, [raising(ShapeError("3 and 2"))]) is not None
    assert check(case_of(value, "{} + a"), [raising(ShapeError("3 and 2"))]) is not None


def test_no_program_may_end_in_a_failed_assertion():
    case = case_of(np.arange(3.0), "{}[np.array([7])]")
    for error in (AssertionError("this"), IntegrityError("this")):
        found = check(case, [raising(error)])
        assert "Error: this" in found.text


def test_programs_of_cases_run():
    for seed in range(10):
        case = draw(seed)
        raises = contextlib.suppress(ValueError, IndexError)  # some cases are errors at run time
        with contextlib.redirect_stdout(io.StringIO()) as said, raises:
            exec(case.program(STRICT.text), {})
            assert said.getvalue().count("\n") >= case.calls


def noise_of(case, **options):
    built = case.build()
    return Noise.of(built.results, built.known(0), seed=0, **options)


def test_rounding_is_allowed_for_where_it_matters():
    value = np.array([1.0, 1e8, -2.5])
    case = case_of(value, "pt.exp(1e-9 * {}) - 1.0")
    noise = noise_of(case, strict=True)
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base, base)
    # A small difference of large numbers.
    assert noise.allows(0, base + np.array([1e-16, 0, 0]), base)
    assert not noise.allows(0, base + np.array([1e-12, 0, 0]), base)
    case = case_of(value, "{} * 0.1")
    noise = noise_of(case, strict=True)
    base = np.asarray(noise.base[0])
    assert not noise.allows(0, base + np.array([0, 1.0, 0]), base)
    assert not noise.allows(0, np.array([np.nan, *base[1:]]), base)


def test_errors_that_may_cancel_are_allowed_for():
    """Two nodes are off by the same: whether that cancels is not for the yardstick to say."""
    value = np.linspace(0.01, 0.1, 50).astype("float32")
    case = case_of(value, "pt.tanh({0})", "{0} - a", outputs=("c",))
    noise = noise_of(case, strict=True)
    base = np.asarray(noise.base[0])
    step = np.spacing(np.tanh(value))
    assert noise.allows(0, base + step, base)
    assert noise.allows(0, base - 2 * step, base)
    assert not noise.allows(0, base + 100 * step, base)


def test_references_that_are_off_by_more_are_allowed_for():
    value = np.array([9.95, 2.0])
    noise = noise_of(case_of(value, "pt.log_ndtr({})"), strict=True)
    base = np.asarray(noise.base[0])
    exact = np.array([-1.2609160670206907e-23, -0.023012909328963488])  # by mpmath
    assert noise.allows(0, exact, base)
    assert not noise.allows(0, base * (1 + 1e-11), base)


def test_the_size_of_a_complex_number_is_rounded():
    value = np.array([3.0 + 0.1j, -0.7 + 2.2j], "complex64")
    noise = noise_of(case_of(value, "pt.abs({}) - 2.3"), strict=True)
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base + np.spacing(np.abs(value)), base)


def test_integers_are_rounded_where_they_are_added_as_floats():
    value = np.array([[-(2**63), -5, 2, 2**63 - 1], [1, 2, 3, 4]])
    noise = noise_of(case_of(value, "pt.mean({}, axis=1)"), strict=True)
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base + np.array([0.5, 0.0]), base)
    assert not noise.allows(0, base + np.array([0.0, 0.5]), base)
    noise = noise_of(case_of(value, "{}.sum(axis=1)"), strict=True)
    base = np.asarray(noise.base[0])
    assert not noise.allows(0, base + 1, base)


def test_powers_of_complex_numbers_are_off_by_the_size_of_their_logarithm():
    z = pt.zvector("z")
    values = np.array([3.0 + 2.0j, -2.5 + 4.0j])
    noise = Noise.of([z**z], {z: values}, strict=True, seed=0)
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base * (1 + 4e-15), base)
    assert not noise.allows(0, base * (1 + 1e-11), base)


def test_floats_are_rounded_where_they_are_added_in_fewer_digits():
    x = pt.dvector("x")
    values = np.array([16.002, 4.001, -4.999, 0.001])
    noise = Noise.of(
        [pt.sum(x, acc_dtype="float32", dtype="float64")], {x: values}, strict=True, seed=0
    )
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base + 2e-6, base)
    assert not noise.allows(0, base + 1e-3, base)


def test_sums_that_overflow_on_the_way_are_infinite_or_nan_by_the_order_of_their_terms():
    largest = float(np.finfo("float32").max)
    for text, numbers, is_free in (
        ("{}.sum()", [np.inf, -largest, -largest], True),
        ("{}.sum()", [1.0, largest, largest, -largest], True),
        ("{}.sum()", [-largest, -largest / 2, -largest / 4, largest, np.inf], True),
        ("pt.cumsum({})", [-largest, -largest, np.inf], True),
        ("pt.dot({0}, {0}[::-1])", [largest, 1.0, -largest], True),
        ("{}.sum()", [largest, largest], False),
        ("{}.sum()", [np.inf, -1e30], False),
        ("{} * 3", [np.inf, -largest, -largest], False),
        ("pt.dot({0}, {0})", [1e10, -1e10], False),
    ):
        value = np.array(numbers, "float32")
        noise = noise_of(case_of(value, text), strict=True)
        base = np.asarray(noise.base[0])
        assert all(run is not None for run in noise.moved)
        assert noise.allows(0, np.full_like(base, np.nan), base) == is_free


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_added_to_an_open_sum_does_not_decide_it(sign):
    largest = float(np.finfo("float64").max)
    value = sign * np.array([-np.inf, largest, largest])
    noise = noise_of(case_of(value, "{0} + {0}.sum()"), strict=True)
    with np.errstate(invalid="ignore"):
        for total in (-np.inf, np.inf, np.nan):
            assert noise.allows(0, value + total, np.full(3, np.nan))


def test_matrices_may_be_off_by_units_of_their_largest_numbers():
    value = np.array([[3.0, 1.0], [0.0, 2.0]])
    noise = noise_of(case_of(value, "pt.linalg.inv({})"), strict=True)
    base = np.asarray(noise.base[0])
    corner = np.array([[0, 0], [1, 0]])
    assert noise.allows(0, base + 1e-16 * corner, base)
    assert not noise.allows(0, base + 1e-13 * corner, base)


def test_what_jumps_is_not_compared_at_the_jump():
    value = np.array([0.0, 0.5, np.log(2.0)])
    noise = noise_of(case_of(value, "pt.floor(pt.exp({}) * 0.5)"), strict=True)
    base = np.asarray(noise.base[0])
    assert noise.allows(0, base - np.array([0, 0, 1]), base)
    assert not noise.allows(0, base - np.array([0, 1, 0]), base)
    noise = noise_of(case_of(np.arange(3), "{} // 2"), strict=True)
    base = np.asarray(noise.base[0])
    assert not noise.allows(0, base + 1, base)


def test_differences():
    x = np.array([1.0, np.nan])
    assert difference(x, x.copy()) == ""
    assert difference(x.astype("float32"), x) == "its dtype is float32, expected float64"
    assert difference(x[:1], x) == "its shape is (1,), expected (2,)"
    text = difference(np.array([1.0, 2.0]), x)
    assert text == "element [1] is np.float64(2.0), expected np.float64(nan)"


def test_the_command(capfd):
    assert main(["--count", "3", "--seed", "5"]) == 0
    assert "3 graphs, 0 disagreements" in capfd.readouterr().out


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_mode_that_flushes_may_take_subnormal_numbers_for_zero(dtype):
    tiny = np.finfo(dtype).tiny
    case = case_of(np.array([tiny, tiny / 4, 1.0], dtype), "1.0 / (1e30 * {})")
    base = np.asarray(noise_of(case, strict=True).base[0])
    found = base.copy()
    found[1] = np.inf
    assert not noise_of(case, strict=True).allows(0, found, base)
    assert noise_of(case, strict=True, flushes=True).allows(0, found, base)
    found[0] = 0
    assert not noise_of(case, strict=True, flushes=True).allows(0, found, base)
