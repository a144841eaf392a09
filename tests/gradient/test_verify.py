"""The checks of gradients: they pass what is right, and say what is wrong with the rest."""

import re

import numpy as np
import pytest

import phintys.tensor as pt
import phintys.testing
from phintys.gradient import GradientError, numeric_grad, verify_grad, verify_rop
from phintys.graph import Apply, Op


class Product(Op):
    """z = x * y, with a gradient and an R-operator to be spoilt."""

    def __init__(self, spoil=lambda g: g, spoil_forward=lambda v: v):
        self.spoil = spoil
        self.spoil_forward = spoil_forward

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * inputs[1]

    def grad(self, inputs, output_grads):
        x, y = inputs
        (g,) = output_grads
        return [g * pt.conj(y), self.spoil(g * pt.conj(x))]

    def R_op(self, inputs, eval_points):
        (x, y), (v, w) = inputs, eval_points
        return [self.spoil_forward(v * y + x * w)]


POINT = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5, -1.5], [2.5, 0.7]])]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("verify", [verify_grad, verify_rop])
def test_it_passes_what_is_right(dtype, verify):
    verify(Product(), [value.astype(dtype) for value in POINT])
    verify(lambda x: pt.tanh(x) ** 2, [POINT[1].astype(dtype)])


@pytest.mark.parametrize("verify", [verify_grad, verify_rop])
def test_shapes(verify):
    for shape in ((), (0,), (1,), (3,), (2, 0), (1, 3), (2, 1, 3)):
        verify(lambda x: x**2 / 2, [np.full(shape, 0.7)])
    verify(lambda x, y: x * y, [np.full((3, 1), 0.5), np.full((1, 2), 0.25)])
    verify(lambda x: [x.sum(axis=0), pt.exp(x)], [POINT[0]])


@pytest.mark.parametrize("verify", [verify_grad, verify_rop])
def test_complex_functions(verify):
    z = np.array([0.3 + 0.4j, -1.0 + 0.2j])
    for f in (
        pt.exp,
        abs,
        pt.conj,
        pt.real,
        pt.imag,
        lambda z: z * pt.conj(z),
        lambda z: pt.real(z) * z,
    ):
        verify(f, [z])


@pytest.mark.parametrize(
    ("spoil", "likely"),
    [
        (lambda g: -g, "a wrong sign"),
        (lambda g: g * 2, "every element is 2 times"),
        (lambda g: g.T, "a missing transpose"),
        (lambda g: g * 0, "zero everywhere"),
        (lambda g: g * np.nan, "gives NaN here"),
        (lambda g: g + 0.5, "the formula in grad or L_op"),
    ],
)
def test_what_is_wrong_is_said(spoil, likely):
    with pytest.raises(GradientError) as caught:
        verify_grad(Product(spoil), POINT)
    text = str(caught.value)
    assert likely in text
    assert "The gradient with respect to input 1 is wrong." in text
    position = re.search(r"element \[(\d), (\d)\], where the input is (\S+)", text)
    index = int(position[1]), int(position[2])
    assert float(position[3]) == POINT[1][index]
    for words in ("symbolic: ", "numeric:  ", "absolute error", "relative error", "tolerance"):
        assert words in text
    assert "checked: Product(input_0, input_1) at inputs float64[2, 2], float64[2, 2]" in text


def test_the_values_in_the_message_are_those():
    with pytest.raises(GradientError) as caught:
        verify_grad(Product(lambda g: g * 3), POINT)
    symbolic = float(re.search(r"symbolic: (\S+)", str(caught.value))[1])
    numeric = float(re.search(r"numeric: +(\S+)", str(caught.value))[1])
    assert symbolic == pytest.approx(3 * numeric)


def test_one_wrong_element_is_enough():
    def spoil(g):
        return pt.set_subtensor(g[1, 0], g[1, 0] * 1.001)

    with pytest.raises(GradientError, match=r"element \[1, 0\]") as caught:
        verify_grad(Product(spoil), POINT)
    assert "1 of 4 elements" in str(caught.value)


def test_a_missing_conjugate():
    class Square(Op):
        def make_node(self, z):
            return Apply(self, [z], [z.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 1j

        def grad(self, inputs, output_grads):
            return [output_grads[0] * 1j]

    with pytest.raises(GradientError, match="The gradient with respect to input 0"):
        verify_grad(Square(), [np.array([1 + 2j, 3 - 1j])])


def test_a_kink():
    with pytest.raises(GradientError, match="a kink or a jump"):
        verify_grad(lambda x: pt.switch(x > 0, x, 2 * x), [np.array([0.0, 1.0])])


def test_nan_next_to_the_point():
    says = pytest.raises(GradientError, match="the function itself gives NaN")
    with says, np.errstate(invalid="ignore"):
        verify_grad(pt.log, [np.array([1e-7])], eps=1e-3)


def test_a_gradient_of_the_wrong_shape():
    class Sum(Op):
        def make_node(self, x):
            return Apply(self, [x], [pt.dscalar()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(inputs[0].sum())

        def grad(self, inputs, output_grads):
            return [output_grads[0] * pt.ones((2,))]

    with pytest.raises(GradientError, match=r"its shape is \(2,\); it must be \(3,\)") as caught:
        verify_grad(Sum(), [np.ones(3)])
    assert "summed over what was broadcast" in str(caught.value)


def test_a_wrong_r_operator():
    with pytest.raises(GradientError, match="The R-operator is wrong for output 0"):
        verify_rop(Product(spoil_forward=lambda v: v * 1.01), POINT)


def test_an_r_operator_and_a_gradient_that_contradict_each_other():
    with pytest.raises(GradientError, match="contradict each other"):
        verify_rop(Product(lambda g: g * 1.01), POINT)


def test_through_pullback_the_gradient_is_what_is_checked():
    spoilt = Product(spoil_forward=lambda v: v * 1.01)
    verify_rop(spoilt, POINT, use_op_rop_implementation=False)


def test_tolerances():
    slightly = Product(lambda g: g * 1.001)
    with pytest.raises(GradientError):
        verify_grad(slightly, POINT)
    verify_grad(slightly, POINT, rel_tol=1e-2)
    verify_grad(slightly, POINT, abs_tol=1e-1)
    with pytest.raises(GradientError):
        verify_grad(slightly, POINT, abs_tol=1e-9, rel_tol=1e-5)
    verify_grad(slightly, POINT, out_type="float32")


def test_random_numbers_can_be_given():
    for rng in (np.random.default_rng(1), np.random.RandomState(1)):
        verify_grad(Product(), POINT, n_tests=1, rng=rng)

    class Counting:
        calls = 0

        def random(self, shape):
            Counting.calls += 1
            return np.full(shape, 0.25)

    verify_grad(Product(), POINT, n_tests=3, rng=Counting())
    assert Counting.calls == 6


def test_a_mode_and_the_dtype_of_the_sum():
    verify_grad(Product(), POINT, mode="reference", cast_to_output_type=True)


@pytest.mark.parametrize(
    ("fun", "point", "words"),
    [
        (abs, np.ones(3), "pt must be a list"),
        (abs, [np.ones(3, int)], r"pt\[0\] is of dtype int64"),
        (lambda x: 3.0, [np.ones(3)], "fun must return a variable"),
        (lambda x: x > 0, [np.ones(3)], "floating or complex dtype"),
    ],
)
@pytest.mark.parametrize("verify", [verify_grad, verify_rop])
def test_refusals(fun, point, words, verify):
    with pytest.raises(GradientError, match=words):
        verify(fun, point)


class TestNumericGrad:
    def test_real(self):
        x, y = np.array([[1.0, -2.0]]), np.array(3.0)
        to_x, to_y = numeric_grad(lambda x, y: (x**2 * y).sum(), [x, y])
        np.testing.assert_allclose(to_x, 2 * x * y, rtol=1e-8)
        np.testing.assert_allclose(to_y, 5.0, rtol=1e-8)
        assert x.tolist() == [[1.0, -2.0]]

    def test_complex(self):
        z = np.array([1 + 2j])
        (found,) = numeric_grad(lambda z: float((abs(z) ** 2).sum()), [z])
        np.testing.assert_allclose(found, 2 * z, rtol=1e-8)

    def test_large_numbers(self):
        x = np.array([1e9])
        (found,) = numeric_grad(lambda x: (x**2).sum(), [x])
        np.testing.assert_allclose(found, 2 * x, rtol=1e-8)

    def test_integers_are_refused(self):
        with pytest.raises(GradientError, match="floating or complex numbers"):
            numeric_grad(lambda x: x.sum(), [np.arange(3)])


def test_one_verify_grad_under_both_roofs():
    assert phintys.testing.verify_grad is verify_grad
