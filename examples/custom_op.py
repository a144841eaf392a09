"""User-defined Types and Ops.

The interface for user-defined Types and Ops is small: a Type defines its values (``filter``), an Op
builds nodes (``make_node``) and executes them (``perform``). Everything else is optional. This
program defines

1. ``Fraction``: a Type whose values are exact fractions, which arrays cannot represent, and whose
   variables can be added, as is needed to accumulate gradients;
2. ``FractionOp``: one Op class for any function of any number of fractions, with a gradient and an
   R-operator;
3. ``Smooth``: an Op on arrays with a parameter, a shape rule, and storage reuse.

    python examples/custom_op.py
"""

from __future__ import annotations

import fractions
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.gradient import grad_undefined
from phintys.graph import Apply, Constant, Op, Type, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# ---- 1. A Type --------------------------------------------------------------------------------


class FractionVariable(Variable):
    """A variable that supports ``+`` and ``*``."""

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __mul__(self, other: Any) -> Any:
        return mul(self, other)


class FractionConstant(FractionVariable, Constant):
    """A constant that supports ``+`` and ``*``."""


class Fraction(Type):
    """Exact fractions."""

    __props__ = ()  # no parameters: all instances are equal

    variable_type = FractionVariable
    constant_type = FractionConstant

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` as a fraction. Floats can be inexact: they need ``allow_downcast``."""
        if isinstance(value, fractions.Fraction):
            return value
        if strict:
            msg = f"expected a Fraction, got {value!r}"
            raise TypeError(msg)
        if isinstance(value, float) and not allow_downcast:
            msg = f"{value!r} is a float; pass Fraction(...), an int, or allow_downcast=True"
            raise TypeError(msg)
        return fractions.Fraction(value)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Fractions are exact, so approximately equal is equal."""
        return a == b

    def __repr__(self) -> str:
        return "fraction"


fraction = Fraction()


def as_fraction(x: Any) -> Variable:
    """Return ``x`` as a variable of the Type; numbers become constants."""
    if isinstance(x, Variable):
        if x.type != fraction:
            msg = f"expected a fraction, got {x} of type {x.type}"
            raise TypeError(msg)
        return x
    return fraction.make_constant(x)


# ---- 2. Ops on it -----------------------------------------------------------------------------


class FractionOp(Op):
    """A function of a fixed number of fractions.

    Parameters
    ----------
    name
        Name of the Op.
    function
        Computes the value from the values of the inputs.
    nin
        Number of inputs.
    partials
        ``partials(*inputs)`` returns the derivative with respect to each input.
    """

    __props__ = ("name", "nin")  # equal Ops promise equal results

    def __init__(
        self,
        name: str,
        function: Callable[..., fractions.Fraction],
        nin: int,
        partials: Callable[..., Sequence[Variable]] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.nin = nin
        self.partials = partials

    def make_node(self, *inputs: Any) -> Apply:
        """Check the number of inputs and wrap literals."""
        if len(inputs) != self.nin:
            msg = f"{self.name} takes {self.nin} fractions, got {len(inputs)}"
            raise TypeError(msg)
        return Apply(self, [as_fraction(x) for x in inputs], [fraction()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Compute the value."""
        output_storage[0][0] = self.function(*inputs)

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        """Multiply the gradient by each partial derivative."""
        (g,) = output_grads
        if self.partials is None:
            return [grad_undefined(self, i, x, "no partials given") for i, x in enumerate(inputs)]
        return [mul(g, partial) for partial in self.partials(*inputs)]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Any]) -> list[Any]:
        """Sum the directions, each multiplied by its partial derivative."""
        if self.partials is None:
            return [None]
        terms = [
            mul(partial, direction)
            for partial, direction in zip(self.partials(*inputs), eval_points, strict=True)
            if direction is not None
        ]
        return [functools.reduce(add, terms)]

    def __str__(self) -> str:
        return self.name


one = fraction.make_constant(1)
add = FractionOp("add", lambda x, y: x + y, 2, lambda x, y: [one, one])
mul = FractionOp("mul", lambda x, y: x * y, 2, lambda x, y: [y, x])
fma = FractionOp("fma", lambda x, y, z: x * y + z, 3, lambda x, y, z: [y, x, one])
invert = FractionOp("invert", lambda x: 1 / x, 1, lambda x: [mul(-1, mul(invert(x), invert(x)))])


def continued_fraction(x: Any, terms: int) -> Any:
    """Return 1 / (1 + x / (1 + x / ...)), truncated after ``terms`` levels."""
    value: Any = one
    for _ in range(terms):
        value = invert(fma(x, value, 1))
    return value


# ---- 3. An Op on arrays -----------------------------------------------------------------------


class Smooth(Op):
    """Exponential smoothing along a vector: ``y[t] = keep * y[t-1] + (1 - keep) * x[t]``."""

    __props__ = ("keep", "backward")

    def __init__(self, keep: float, backward: bool = False) -> None:
        self.keep = keep
        self.backward = backward  # the transposed map, which the gradient needs

    def make_node(self, x: Any) -> Apply:
        """Take a vector of floats."""
        x = pt.as_tensor_variable(x)
        if x.ndim != 1 or x.dtype not in {"float32", "float64"}:
            msg = f"Smooth takes a vector of floats, got {x.type}"
            raise TypeError(msg)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Reuse the memory of a previous result if its shape matches."""
        (x,) = inputs
        cell = output_storage[0]
        if cell[0] is None or cell[0].shape != x.shape:
            cell[0] = np.empty_like(x)
        y = cell[0]
        state = x.dtype.type(0)
        for t in reversed(range(len(x))) if self.backward else range(len(x)):
            state = self.keep * state + (1 - self.keep) * x[t]
            y[t] = state

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """The result has the shape of the input, so it is never computed just for its shape."""
        return [input_shapes[0]]

    def grad(self, inputs: Any, output_grads: Any) -> list[Any]:
        """The map is linear, so its gradient is the transposed map."""
        return [Smooth(self.keep, not self.backward)(output_grads[0])]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """The map is linear, so it maps directions as it maps values."""
        return [None if eval_points[0] is None else self(eval_points[0])]


def main() -> None:
    """Demonstrate the Type and the Ops."""
    x = fraction("x")
    value = continued_fraction(x, 12)
    f = phintys.function([x], value)
    print(f"1/(1+x/(1+x/...)) at x=1, 12 deep: {f(1)} = {float(f(1)):.10f}")

    # The chain rule starts from the gradient of the value with respect to itself, which is 1.
    slope = phintys.grad(None, x, known_grads={value: one})
    direction = phintys.Rop(value, x, one)
    slopes = phintys.function([x], [slope, direction])(1)
    print(f"its derivative, in reverse and forward: {slopes[0]} and {slopes[1]}")

    signal = pt.dvector("signal")
    smooth = Smooth(0.9)
    loss = ((smooth(signal) - signal) ** 2).sum()
    gradient = phintys.function([signal], phintys.grad(loss, signal))
    print(f"gradient of a smoothing loss: {gradient([1.0, 2.0, 4.0]).round(4)}")
    phintys.testing.verify_grad(smooth, [np.linspace(0.0, 1.0, 5)])
    print("verify_grad agrees")

    try:
        phintys.function([x], value)(0.5)
    except TypeError as error:
        print("\nA mistake, and what is said about it:", error, *error.__notes__, sep="\n")


if __name__ == "__main__":
    main()
