"""Programs of JAX: values, sizes that are computed first, checks, and options."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ConfigError, PhintysError, TransferError
from phintys.backends.jax.tracing import HostRefusedError, NeedsKnownError

jax = pytest.importorskip("jax")

x, v = pt.dvectors("x", "v")
A = pt.dmatrix("A")
ks = pt.lvector("ks")
n = pt.lscalar("n")


def _same(inputs, outputs, *values, mode="jax", rtol=1e-12):
    """Compare a function with that of the reference backend, and return it."""
    function = phintys.function(inputs, outputs, mode=mode)
    expected = phintys.function(inputs, outputs, mode="reference")(*values)
    found = function(*values)
    if not isinstance(expected, list):
        expected, found = [expected], [found]
    for a, b in zip(expected, found, strict=True):
        assert isinstance(b, np.ndarray)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=rtol)
    return function


def test_a_gradient_has_the_values_of_the_reference():
    cost = (pt.tanh(A @ x) ** 2).sum()
    rng = np.random.default_rng(0)
    _same([A, x], [cost, phintys.grad(cost, A)], rng.random((3, 4)), rng.random(4))


def test_the_gradient_of_an_empty_sum_of_exponentials_is_zero():
    rows = np.array([[0.0, 1.0, -np.inf], [-np.inf, -np.inf, -np.inf], [1e3, 0.0, 1e3]])
    _same([A], phintys.grad(pt.logsumexp(A, axis=1).sum(), A), rows)


def test_jax_keeps_the_precision_of_the_user():
    phintys.function([x], pt.exp(x), mode="jax")([1.0])
    assert jax.numpy.arange(2.0).dtype == "float32"


def test_sizes_that_depend_on_values_are_computed_first():
    f = _same([x], pt.exp(x)[x > 0], np.array([1.0, -1.0, 2.0]))
    program = f.vm
    traces = program.traces
    f([-1.0, 3.0, 4.0])  # another mask with as many elements
    assert program.traces == traces
    f([1.0, 3.0, 4.0])
    assert program.traces == traces + 1
    assert "computed first, on the device" in f.explain()


def test_a_size_of_a_small_integer_is_computed_on_the_host():
    f = _same([n], pt.arange(n) ** 2, 4)
    assert "computed first, on the host" in f.explain()


def test_a_size_that_needs_the_shape_of_a_computed_value_is_computed_on_the_device():
    values = pt.kv(x, v)
    part = values.reshape(values.shape)[:n]
    reversed_ = pt.set_subtensor(part[:2:2], part[:2:2][::-1])
    _same([n, x, v], reversed_, 3, np.linspace(1, 2, 7), np.linspace(0.1, 2, 7))


def test_equal_sizes_are_not_compiled_again():
    f = phintys.function([A, n], A[n : n + 2], mode="jax")
    value = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(f(value, 1), value[1:3])
    traces = f.vm.traces
    np.testing.assert_array_equal(f(value, 3), value[3:5])
    assert f.vm.traces == traces


def test_failures_belong_to_the_shapes_of_a_call():
    f = phintys.function([v, ks], v[ks], mode="jax")
    f([1.0, 2.0], [0, 1])
    f([1.0, 2.0, 3.0], [2])
    with pytest.raises(IndexError, match="axis 0 of v, which has size 2"):
        f([1.0, 2.0], [0, 2])


def test_an_index_is_checked_once_for_all_its_readers():
    taken = A[pt.arange(A.shape[0]), ks]
    value, indices = np.arange(6.0).reshape(3, 2), np.array([0, -1, 1])
    f = _same(
        [A, ks], [taken, phintys.grad((taken**2).sum(), A), _without_last_rows(A)], value, indices
    )
    assert "1 checks of values" in f.explain()
    with pytest.raises(IndexError, match="index 2"):
        f(value, indices + 1)


def _without_last_rows(matrix):
    """Return rows by numbers that are known to be in range."""
    return pt.set_subtensor(matrix[pt.arange(1, matrix.shape[0])], 0.0)


def test_loops_have_the_values_of_the_reference():
    sums = phintys.scan(lambda a, s: s + a, x, pt.constant(0.0), return_updates=False)
    value = np.arange(1.0, 6.0)
    _same([x], [sums, phintys.grad(sums[-1] ** 2, x)], value)


def test_a_loop_until_a_condition_keeps_its_rows():
    doubled = phintys.scan(
        lambda s: (2 * s, phintys.until(s > 10)),
        outputs_info=[pt.constant(1.0)],
        n_steps=n,
        return_updates=False,
    )
    _same([n], doubled, 20)


def test_only_the_chosen_branch_is_computed():
    chosen = phintys.ifelse(pt.gt(x[0], 0), pt.log(x).sum(), v[ks[0]])
    f = _same([x, v, ks], chosen, np.ones(3), np.ones(2), np.array([5]))
    with pytest.raises(IndexError, match="index 5"):
        f(-np.ones(3), np.ones(2), np.array([5]))


def test_draws_have_the_same_words():
    rng = phintys.random.shared_rng(7)
    _, words = rng.integers(0, 1 << 40, size=(100,))
    _, normals = rng.normal(0.0, 1.0, size=(100,))
    found = phintys.function([], [words, normals], mode="jax")()
    expected = phintys.function([], [words, normals], mode="reference")()
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)


def _error_of(function, *values):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - it is compared with the reference's
        function(*values)
    return caught.value


@pytest.mark.parametrize(
    ("inputs", "output", "values"),
    [
        ([v, ks], phintys.scan(lambda k, v: v[k], [ks], None, [v])[0], ([1.0, 2.0], [0, 7])),
        ([A], pt.linalg.cholesky(A), (-np.eye(2),)),
        ([A, v], pt.linalg.solve(A, v[:, None]), (np.zeros((2, 2)), np.ones(2))),
        ([A], pt.linalg.inv(A), (np.zeros((2, 2)),)),
        ([A, v], A + v, (np.ones((2, 3)), np.ones(4))),
        ([A, v], A @ v, (np.ones((2, 3)), np.ones(4))),
        ([v, n], v.reshape((n, 2)), (np.ones(5), 2)),
        ([v, n], v[n], (np.ones(5), 5)),
    ],
    ids=["loop", "cholesky", "solve", "inverse", "sum", "product", "reshape", "index"],
)
def test_errors_are_those_of_the_library_with_the_line_of_the_user(inputs, output, values):
    error = _error_of(phintys.function(inputs, output, mode="jax"), *values)
    expected = _error_of(phintys.function(inputs, output, mode="reference"), *values)
    assert type(error) is type(expected)
    assert str(error) == str(expected)
    assert "test_mode.py" in "\n".join(error.__notes__)


def test_late_checks_raise_at_the_next_call():
    f = phintys.function([v, n], v[n], mode=phintys.jax.mode(checks="later"))
    f([1.0], 3)
    with pytest.raises(IndexError) as caught:
        f([1.0], 0)
    assert "earlier call" in caught.value.__notes__[0]
    assert f([1.0], 0) == 1


def test_a_size_that_depends_on_values_inside_a_loop_names_the_line():
    sums, _ = phintys.scan(lambda k: pt.arange(k).sum(), sequences=[ks])
    with pytest.raises(NeedsKnownError, match=r"compute it outside(?s:.*)test_mode\.py"):
        phintys.function([ks], sums, mode="jax")([2, 3])


def test_callbacks_are_listed_and_refused():
    values = pt.linalg.sqrtm(A)
    f = _same([A], values, np.diag([1.0, 2.0]))
    assert "1 callbacks to the host: Sqrtm, since it has no rule" in f.explain()
    refusing = phintys.function([A], values, mode=phintys.jax.mode(host="refuse"))
    with pytest.raises(HostRefusedError, match=r"Sqrtm would run(?s:.*)test_mode\.py"):
        refusing(np.eye(2))


SPECIAL = ["digamma", "erfcx", "erfinv", "gammaln", "i0e", "log_ndtr", "ndtr", "ndtri", "spence"]


def test_special_functions_have_poles_and_take_short_floats():
    h = pt.vector("h", dtype="float16")
    short = [getattr(pt, name)(h) for name in SPECIAL]
    _same([h], short, np.array([0.25, 0.5, 0.75], "float16"), rtol=2e-3)
    poles = [pt.digamma(x), pt.digamma_difference(x, pt.constant(3.0))]
    _same([x], poles, np.array([0.0, -0.0, 1.0]))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int32", "uint64", "int64"])
def test_floats_that_an_integer_lacks_wrap_around(dtype):
    numbers = np.random.default_rng(0).normal(size=9) * 100
    total = pt.sum(x, acc_dtype=dtype, dtype="float64")
    _same([x], [pt.cast(x, dtype), total], numbers)


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin"])
def test_complex_numbers_are_ordered_as_in_numpy(name):
    parts = [-1.0, 0.0, 1.0, np.nan, np.inf]
    numbers = np.array([complex(re, im) for re in parts for im in parts])
    first, second = np.repeat(numbers, numbers.size), np.tile(numbers, numbers.size)
    c, d = pt.zvectors("c", "d")
    _same([c, d], getattr(pt, name)(c, d), first, second)


@pytest.mark.parametrize("name", ["digamma", "erf", "erfc", "gamma", "log_ndtr", "ndtr"])
@pytest.mark.sampled(3)
def test_functions_that_jax_has_of_floats_alone_take_complex_numbers(name):
    z = pt.zvector("z")
    _same([z], getattr(pt.special, name)(z), np.array([0.3 + 0.2j, -1.2 + 0.7j, 2 - 0.5j]))


def test_tails_have_their_digits():
    small = np.array([1e-12, 2.5e-12, 0.1, 0.9])
    _same([x, v], pt.special.betaincc(x, v, small), small * 0 + 0.27, small * 0 + 8.7, rtol=1e-11)
    orders, at = np.array([0.0, 1, 2, 3, 5, 1.5]), np.array([1.0, 0, 0, np.inf, 2, 1])
    _same([x, v], pt.special.expn(x, v), orders, at)
    logs = np.array([0.0, -np.inf, 1, -1e-300, -1e300, -0.5, -2, -260, -1e-20, np.nan])
    _same([x], pt.special.ndtri_exp(x), logs, rtol=1e-11)
    exponents, shifts = np.array([0.0, 0.5, 1, 2, 3]), np.array([-3.0, 2, 2, 2, 0.5])
    _same([x, v], pt.special.zeta(x, v), exponents, shifts)
    _same([x], pt.log_ndtr(x), np.array([-30.0, -1, 0, 0.5, 3, 5, 8, 40, np.inf, np.nan]))
    near = np.array([0.3, 0.3, 0.5])
    divergences = [pt.rel_entr(x, v), pt.kl_div(x, v)]
    _same([x, v], [*divergences, pt.logit(x)], near, near * (1 + 1e-9), rtol=1e-8)


def test_products_of_bools_and_nan_are_nan():
    flags = pt.vector("flags", dtype="bool")
    bad = np.array([np.nan, np.inf, np.nan])
    _same([flags, x], [flags * x, pt.cast(flags, "float64") * x + 1], bad > 0, bad)


@pytest.mark.parametrize("index", [3, slice(1, 3), [1, 0, 1]])
def test_bools_are_increased_as_numpy_adds_them(index):
    flags = pt.vector("flags", dtype="bool")
    added = {int: flags[1], slice: flags[2:4], list: flags[1:4]}[type(index)]
    _same([flags], pt.inc_subtensor(flags[index], added), np.array([False, True, False, True]))


def test_the_spacing_of_short_floats_has_no_sign():
    half = pt.vector("half", dtype="float16")
    _same([half], pt.spacing(half), np.array([-1.4, 1.25], "float16"))


def test_an_op_without_a_shape_rule_is_named():
    class Shapeless(Counted):
        infer_shape = None

    with pytest.raises(NeedsKnownError) as caught:
        phintys.function([x], Shapeless()(x), mode="jax")(np.ones(2))
    assert "Shapeless runs on the host and does not define infer_shape" in caught.value.__notes__[0]


class Counted(phintys.Op):
    """The number of its calls, plus its input."""

    def __init__(self, *, folds=True):
        self.calls = 0
        self.folds = folds

    def make_node(self, x):
        return phintys.Apply(self, [pt.as_tensor_variable(x)], [pt.dvector()])

    def perform(self, node, inputs, output_storage):
        self.calls += 1
        output_storage[0][0] = inputs[0] + self.calls

    def infer_shape(self, fgraph, node, input_shapes):
        return input_shapes

    def do_constant_folding(self, fgraph, node):
        return self.folds


def test_an_op_of_a_user_runs_in_each_call_even_of_constants():
    f = phintys.function([], Counted(folds=False)(np.zeros(2)), mode="jax")
    assert [f().tolist(), f().tolist()] == [[1, 1], [2, 2]]
    assert "Counted, since it has no rule" in f.explain()


@pytest.mark.parametrize(
    "value",
    [
        np.array([1 << 40, -5]),
        np.array([1 / 3, 1e300]),
        np.array([1 / 3 + 1e200j]),
        np.array([True]),
    ],
)
def test_printed_numbers_have_all_bits(value):
    seen = []
    y = pt.vector("y", dtype=value.dtype)
    shown = pt.Print(global_fn=lambda op, found: seen.append(found))(y)
    phintys.function([y], shown, mode="jax")(value)
    assert [(one.dtype, one.tolist()) for one in seen] == [(value.dtype, value.tolist())]


def test_what_fails_while_it_is_printed_fails_the_call():
    def refuse(op, value):
        raise ValueError(f"not {value.tolist()}")

    f = phintys.function([x], pt.Print(global_fn=refuse)(x), mode="jax")
    with pytest.raises(ValueError, match=r"not \[1.0\]"):
        f([1.0])


def test_a_function_of_jax_is_a_part_of_the_program():
    sine = phintys.jax.from_jax(jax.numpy.sin)
    y = sine(x)
    f = phintys.function([x], [y, phintys.grad(y.sum(), x)], mode="jax")
    found = f([0.5, 1.0])
    np.testing.assert_allclose(found, [np.sin([0.5, 1.0]), np.cos([0.5, 1.0])], rtol=1e-14)
    assert "callback" not in f.explain()


def test_the_inverse_of_no_numbers_is_that_of_the_reference():
    """It has no value, and no pivot is 0."""
    _same([A], pt.linalg.inv(A), np.full((2, 2), np.nan))


def test_errors_of_callbacks_are_those_of_the_library():
    solution = pt.linalg.solve_toeplitz(v, x)
    function = phintys.function([v, x], solution, mode="jax")
    with pytest.raises(np.linalg.LinAlgError):
        function([0.0, 0.0], [1.0, 1.0])


def test_results_can_stay_on_the_device():
    f = phintys.function([x], x + 1, mode=phintys.jax.mode(results="device"))
    assert isinstance(f([1.0]), jax.Array)


def test_a_transfer_names_the_device_of_the_whole_function():
    here = f"{jax.devices()[0].platform}:{jax.devices()[0].id}"
    assert x.transfer("cpu") is x
    moved = pt.exp(x).transfer(here)
    _same([x], [moved, phintys.grad(moved.sum(), x)], np.array([0.0, 1.0]))
    f = phintys.function([x], moved, mode=phintys.jax.mode(results="device"))
    assert f([0.0]).devices() == {jax.devices()[0]}
    assert phintys.function([x], moved)([0.0]) == 1


@pytest.mark.parametrize("target", ["gpu:77", "cpu:99", "tpu:x"])
def test_a_transfer_to_a_device_that_is_not_there_names_those_that_are(target):
    with pytest.raises(TransferError, match=rf"'{target}'.* only \w+:0"):
        x.transfer(target)


def test_options_and_devices_are_checked():
    with pytest.raises(ConfigError, match="checks='never'"):
        phintys.jax.mode(checks="never")
    with pytest.raises(ConfigError, match=r"only cpu:0|only \w+:0"):
        phintys.function([x], x, mode=phintys.jax.mode(device="tpu:17"))


def test_a_function_is_pickled_with_its_mode():
    f = phintys.function([x], pt.exp(x), mode=phintys.jax.mode(checks="later"))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))([0.0]), [1.0])


def test_a_program_without_jax_says_what_to_install():
    code = """
    import sys
    sys.modules["jax"] = None
    import phintys, phintys.tensor as pt
    x = pt.dvector("x")
    try:
        phintys.function([x], x + 1, mode="jax")
    except ImportError as error:
        print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "pip install 'phintys[jax]'" in done.stdout


def test_parts_without_elements_are_not_computed():
    # XLA ends the process when it compiles the second result.
    code = """
    import numpy as np, phintys, phintys.tensor as pt
    x, n = pt.dvector("x"), pt.lscalar("n")
    joined = pt.join(0, x[None], pt.zeros((n, 3)))
    f = phintys.function([x, n], [joined[0], joined[1:]], mode="jax")
    print([result.shape for result in f([1.0, 2.0, 3.0], 0)])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split("\n")[-2] == "[(3,), (0, 3)]"


def test_a_failing_call_leaves_shared_values_as_they_were():
    total = phintys.shared(np.zeros(2), "total")
    f = phintys.function([n], v_of(total, n), updates={total: total + 1}, mode="jax")
    f(0)
    with pytest.raises(IndexError):
        f(5)
    np.testing.assert_array_equal(total.get_value(), [1.0, 1.0])


def v_of(vector, index):
    return vector[index]


def test_functions_become_functions_of_jax():
    y = pt.fvector("y")
    f = phintys.function([y], (y**2).sum(), mode="jax")
    pure = phintys.jax.to_jax(f)
    value = jax.numpy.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(jax.jit(pure)(value[0]), 5.0)
    np.testing.assert_allclose(jax.grad(pure)(value[0]), 2 * value[0])
    np.testing.assert_allclose(jax.vmap(pure)(value), (value**2).sum(1))


def test_only_functions_of_jax_without_updates_become_pure():
    with pytest.raises(ArgumentError, match="mode='jax'"):
        phintys.jax.to_jax(phintys.function([x], x))
    state = phintys.shared(0.0, "state")
    updating = phintys.function([], state, updates={state: state + 1}, mode="jax")
    with pytest.raises(ArgumentError, match="state"):
        phintys.jax.to_jax(updating)


def test_errors_are_errors_of_the_library():
    assert issubclass(NeedsKnownError, PhintysError)
    assert issubclass(HostRefusedError, PhintysError)


def test_increments_of_parts_leave_negative_zeros():
    values = np.array([-0.0, 1.0, -0.0, -0.0])
    once = pt.inc_subtensor(x[1:2], v[:1])
    f = phintys.function([x, v], pt.inc_subtensor(once[2], v[1]), mode="jax")
    found = f(values, np.array([2.0, -0.0]))
    np.testing.assert_array_equal(found, [0.0, 3.0, 0.0, 0.0])
    assert np.signbit(found).tolist() == [True, False, True, True]


def test_numbers_are_scalars_beside_arrays():
    """XLA would divide by an array of one element in another way, once for each use."""
    f = phintys.function([x, v], x / pt.exp(v[0]), mode="jax")
    f([1.0, 2.0], [0.0])
    ((_, program),) = f.vm._programs.items()
    with jax.enable_x64(True):
        text = str(jax.make_jaxpr(program.call.__wrapped__)(np.ones(3), np.ones(2)))
    assert "f64[1] = exp" not in text
    assert ":f64[] = exp" in text


def test_quotients_of_quotients_do_not_overflow_on_the_way():
    """XLA would divide by the product of the divisors."""
    x, a, b = pt.dvectors("x", "a", "b")
    f = phintys.function([x, a, b], x / a / b, mode="jax")
    np.testing.assert_array_equal(f([1e200], [1e200], [1e200]), [1e-200])


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_of_complex_numbers_is_the_first_with_nan(name):
    rng = np.random.default_rng(0)
    values = (rng.standard_normal((16, 7)) + 1j * rng.standard_normal((16, 7))).astype("complex64")
    values[5, 2], values[10, 6], values[12, 0] = np.inf, complex(np.nan, 1), complex(0, np.nan)
    x = pt.cmatrix("x")
    outputs = [getattr(pt, name)(x, axis=axis) for axis in (None, 0, 1)]
    found, expected = (phintys.function([x], outputs, mode=m)(values) for m in ("jax", None))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [0.1, 3.0, 5.4, 8.0, 10.7, 40.0])
def test_exponentials_of_matrices_have_their_digits(size):
    """JAX halves matrices once too seldom."""
    values = np.random.default_rng(0).standard_normal((2, 5, 5))
    values *= size / np.abs(values).sum(-2).max(-1)[:, None, None]
    x = pt.dtensor3("x")
    found, expected = (
        phintys.function([x], pt.linalg.expm(x), mode=mode)(values) for mode in ("jax", None)
    )
    digits = 2e-15 * max(size, 1)  # the condition grows with the norm
    assert np.abs(found - expected).max() <= digits * np.abs(expected).max()


def test_a_function_for_jax_names_an_argument_with_other_axes():
    x = pt.fvector("x")
    f = phintys.jax.to_jax(phintys.function([x], pt.tanh(x), mode="jax"))
    with pytest.raises(phintys.PhintysError, match=r"argument x .* must have 1 axes"):
        f(jax.numpy.ones(()))


def test_a_function_for_jax_maps_over_states_of_generators():
    rng, scale = phintys.random.rng("rng"), pt.dscalar("scale")
    draws = scale * rng.exponential(size=3)[1]
    f = phintys.jax.to_jax(phintys.function([rng, scale], draws, mode="jax"))
    states = np.stack([phintys.random.state(seed) for seed in range(2)])
    with jax.enable_x64(True):
        found = jax.vmap(f, (0, None))(jax.numpy.asarray(states), jax.numpy.asarray(2.0))
    native = phintys.function([rng, scale], draws)
    np.testing.assert_array_equal(found, [native(state, 2.0) for state in states])
