"""Checks of gradients against finite differences, for authors of Ops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import GradientError
from phintys.gradient.forward import Rop
from phintys.gradient.numeric import GradientComparison, numeric_grad, step_for, tolerance_for
from phintys.gradient.reverse import Lop
from phintys.graph.compiler import compile_graph
from phintys.graph.variable import Variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

_SEED = 2026


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    out_type: Any = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Check a gradient against finite differences; raise if they differ.

    The result of ``fun`` is multiplied by random numbers and summed to a scalar; its symbolic
    gradient is compared with central differences, element by element.

    Parameters
    ----------
    fun
        Takes one tensor variable for each entry of ``pt`` and returns one or more variables. It
        can be an Op.
    pt
        The point: a list of floating or complex arrays. ``fun`` must be smooth around it.
    n_tests
        The number of sets of random numbers to try.
    rng
        ``numpy.random.Generator`` (or ``RandomState``) to draw them from; by default one with a
        fixed seed.
    eps
        Step of the differences; the default depends on the dtypes.
    out_type
        Dtype that determines the step and the tolerance instead of the dtype of the result, for an
        Op that is less precise than its dtype.
    abs_tol, rel_tol
        An element is wrong if its absolute error exceeds ``abs_tol`` *and* its relative error
        exceeds ``rel_tol``. The defaults depend on the coarsest dtype involved.
    mode
        Mode in which the functions are compiled.
    cast_to_output_type
        Multiply and sum in the dtype of the result instead of float64.
    no_debug_ref
        Do not use a debugging ``mode`` for the many calls that finite differences need.

    Raises
    ------
    GradientError
        The gradient is wrong: the message says where and by how much. Also raised for invalid
        arguments.

    Notes
    -----
    For complex ``a + ib`` the gradient is ``dC/da + i dC/db``.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> from phintys.gradient import verify_grad
    >>> verify_grad(pt.tanh, [np.array([0.1, -2.0])])
    """
    case = DerivativeCase.of(fun, pt, mode, [] if out_type is None else [out_type])
    reference_mode = None if no_debug_ref and _debugs(mode) else mode
    case.check_gradient(
        n_tests, rng, eps, abs_tol, rel_tol, reference_mode, in_own_dtype=cast_to_output_type
    )


def verify_rop(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
    use_op_rop_implementation: bool = True,
) -> None:
    """Check an R-operator against finite differences and against the gradient.

    For random tangents v, ``J v`` is compared with the difference of ``fun`` along v, and, for
    random u, ``<u, J v>`` with ``<u J, v>``.

    Parameters
    ----------
    fun
        Takes one tensor variable for each entry of ``pt`` and returns one or more variables. It
        can be an Op.
    pt
        The point: a list of floating or complex arrays. ``fun`` must be smooth around it.
    n_tests
        The number of tangents to try.
    rng
        As for :func:`verify_grad`.
    eps
        Step of the differences; the default depends on the dtypes.
    abs_tol, rel_tol
        As for :func:`verify_grad`.
    mode
        Mode in which the functions are compiled.
    use_op_rop_implementation
        As for :func:`~phintys.Rop`.

    Raises
    ------
    GradientError
        The R-operator is wrong, or contradicts the gradient.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> from phintys.gradient import verify_rop
    >>> verify_rop(pt.tanh, [np.array([0.1, -2.0])])
    """
    case = DerivativeCase.of(fun, pt, mode)
    case.check_rop(
        n_tests, rng, eps, abs_tol, rel_tol, use_op_rop_implementation=use_op_rop_implementation
    )


@dataclass
class DerivativeCase:
    """A function applied to symbolic inputs, and the point at which its derivatives are checked.

    Its values and its derivatives are compiled once, however many checks use them.
    """

    point: list[Array]
    inputs: list[Any]
    outputs: list[Any]
    dtypes: list[Any]
    mode: Any = None
    _values: dict[Any, Any] = field(default_factory=dict)
    _pushing: dict[bool, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, fun: Callable[..., Any], pt: Any, mode: Any = None, dtypes: Sequence[Any] = ()
    ) -> DerivativeCase:
        """Return a function at a point.

        Parameters
        ----------
        fun, pt, mode
            As for :func:`verify_grad`.
        dtypes
            The dtypes that determine tolerances instead of those of the results.
        """
        if not isinstance(pt, list | tuple):
            msg = f"pt must be a list with one array for each input, got {type(pt).__name__}."
            raise GradientError(msg)
        point = [np.array(value) for value in pt]
        for position, array in enumerate(point):
            if array.dtype.kind not in "fc":
                msg = (
                    f"pt[{position}] is of dtype {array.dtype}: gradients can be checked for "
                    "floating and complex inputs only. Leave other inputs out of pt and fix them "
                    "in fun, as in lambda x: op(x, 3)."
                )
                raise GradientError(msg)
        inputs = [
            TensorType(array.dtype, [1 if size == 1 else None for size in array.shape])(
                f"input_{position}"
            )
            for position, array in enumerate(point)
        ]
        given = fun(*inputs)
        outputs = list(given) if isinstance(given, list | tuple) else [given]
        for output in outputs:
            if not isinstance(output, Variable):
                msg = f"fun must return a variable, or a list of them, got {output!r}."
                raise GradientError(msg)
            if getattr(output.type, "dtype", "object")[0] not in "fc":
                msg = (
                    f"fun must return something of a floating or complex dtype, got {output} of "
                    f"type {output.type}, which has no gradient but zero."
                )
                raise GradientError(msg)
        used = [*dtypes] or [output.type.dtype for output in outputs]
        return cls(point, inputs, outputs, [*(array.dtype for array in point), *used], mode)

    def check_gradient(
        self,
        n_tests: int,
        rng: Any = None,
        eps: float | None = None,
        abs_tol: float | None = None,
        rel_tol: float | None = None,
        reference_mode: Any = None,
        *,
        in_own_dtype: bool = False,
    ) -> None:
        """Compare the gradient with finite differences.

        Parameters
        ----------
        n_tests, rng, eps, abs_tol, rel_tol
            As for :func:`verify_grad`.
        reference_mode
            The mode in which values are computed for differences.
        in_own_dtype
            Whether to multiply and sum in the dtype of the result.
        """
        generator = _generator(rng)
        abs_tol, rel_tol = self.tolerances(abs_tol, rel_tol)
        gradient, value = self.pull, self._value(reference_mode)
        results = value(*self.point)
        step = self.step() if eps is None else eps
        for test in range(n_tests):
            projection = [_random_like(result, generator) for result in results]

            def cost(*arrays: Array, projection: Sequence[Array] = projection) -> float:
                return _inner(projection, value(*arrays), in_own_dtype)

            found = gradient(*self.point, *projection)
            expected = numeric_grad(cost, self.point, step)
            for position, (a, n) in enumerate(zip(found, expected, strict=True)):
                comparison = GradientComparison(
                    position, self.point[position], np.asarray(a), n, abs_tol, rel_tol
                )
                if comparison.fails():
                    raise GradientError(
                        "\n".join(
                            (
                                f"The gradient with respect to input {position} is wrong.",
                                *comparison.report(f"central differences, step {step:.1g}"),
                                f"  random numbers: set {test + 1} of {n_tests}",
                                f"  checked: {self.describe()}",
                                f"Likely: {comparison.guess(cost, self.point, step)}",
                            )
                        )
                    )

    def check_rop(
        self,
        n_tests: int,
        rng: Any = None,
        eps: float | None = None,
        abs_tol: float | None = None,
        rel_tol: float | None = None,
        *,
        use_op_rop_implementation: bool = True,
    ) -> None:
        """Compare the R-operator with finite differences and with the gradient.

        Parameters
        ----------
        n_tests, rng, eps, abs_tol, rel_tol, use_op_rop_implementation
            As for :func:`verify_rop`.
        """
        generator = _generator(rng)
        abs_tol, rel_tol = self.tolerances(abs_tol, rel_tol)
        push = self.pushing(use_op_rop_implementation)
        pull, value = self.pull, self._value(self.mode)
        step = self.step() if eps is None else eps
        for _ in range(n_tests):
            v = [_random_like(array, generator) for array in self.point]
            pushed = push(*self.point, *v)
            expected = _difference(value, self.point, v, step)
            for position, (a, n) in enumerate(zip(pushed, expected, strict=True)):
                comparison = GradientComparison(position, None, np.asarray(a), n, abs_tol, rel_tol)
                if comparison.fails():
                    how = f"central differences along the direction, step {step:.1g}"
                    raise GradientError(
                        "\n".join(
                            (
                                f"The R-operator is wrong for output {position}.",
                                *comparison.report(how),
                                f"  checked: {self.describe()}",
                            )
                        )
                    )
            u = [_random_like(array, generator) for array in pushed]
            there, back = _inner(u, pushed), _inner(pull(*self.point, *u), v)
            scale = sum(float(np.abs(a * b).sum()) for a, b in zip(u, pushed, strict=True))
            if not abs(there - back) <= abs_tol + rel_tol * scale:
                msg = (
                    "The R-operator and the gradient contradict each other: <u, J v> is "
                    f"{there:.10g}, and <u J, v> is {back:.10g} (tolerance "
                    f"{abs_tol + rel_tol * scale:.2g}).\n  checked: {self.describe()}\nLikely: "
                    "the R-operator agrees with finite differences, so grad or L_op is wrong; see "
                    "what verify_grad says."
                )
                raise GradientError(msg)

    def _value(self, mode: Any) -> Any:
        """Return the function itself, compiled."""
        if mode not in self._values:
            self._values[mode] = _compile(self.inputs, self.outputs, mode)
        return self._values[mode]

    @kept_property
    def pull(self) -> Any:
        """The function from a point and weights of the outputs to the gradient."""
        weights = [output.type() for output in self.outputs]
        gradient = Lop(self.outputs, self.inputs, weights, disconnected_inputs="ignore")
        return _compile([*self.inputs, *weights], gradient, self.mode)

    def pushing(self, use_op_rop_implementation: bool = True) -> Any:
        """Return the function from a point and a direction to the R-operator of the outputs.

        Parameters
        ----------
        use_op_rop_implementation
            As for :func:`verify_rop`.
        """
        key = use_op_rop_implementation
        if key not in self._pushing:
            directions = [variable.type() for variable in self.inputs]
            forward = Rop(
                self.outputs,
                self.inputs,
                directions,
                disconnected_outputs="ignore",
                use_op_rop_implementation=use_op_rop_implementation,
            )
            self._pushing[key] = _compile([*self.inputs, *directions], forward, self.mode)
        return self._pushing[key]

    def step(self) -> float:
        return step_for(self.dtypes)

    def tolerances(self, abs_tol: float | None, rel_tol: float | None) -> tuple[float, float]:
        default = tolerance_for(self.dtypes)
        return default if abs_tol is None else abs_tol, default if rel_tol is None else rel_tol

    def describe(self) -> str:
        """Return a one-line description of what is being checked."""
        shown = []
        for output in self.outputs:
            if output.owner is None:
                shown.append(str(output))
                continue
            operands = ", ".join(str(variable) for variable in output.owner.inputs)
            shown.append(f"{output.owner.op}({operands})")
        shapes = ", ".join(f"{array.dtype}{list(array.shape)}" for array in self.point)
        return f"{'; '.join(shown)} at inputs {shapes}"


def _compile(inputs: Sequence[Any], outputs: Sequence[Any], mode: Any) -> Any:
    options = {} if mode is None else {"mode": mode}
    return compile_graph(
        list(inputs),
        list(outputs),
        on_unused_input="ignore",
        allow_input_downcast=True,
        **options,
    )


def _generator(rng: Any) -> Any:
    return np.random.default_rng(_SEED) if rng is None else rng


def _random_like(array: Any, rng: Any) -> Array:
    """Return numbers of magnitude 0.5 to 1.5, so that no small factor hides an error."""
    array = np.asarray(array)
    numbers = rng.random(array.shape) + 0.5
    if array.dtype.kind == "c":
        numbers = numbers * np.exp(2j * np.pi * rng.random(array.shape))
    else:
        numbers = np.where(rng.random(array.shape) < 0.5, -numbers, numbers)
    return np.asarray(numbers, array.dtype)


def _inner(u: Sequence[Any], v: Sequence[Any], in_own_dtype: bool = False) -> float:
    """Return the real inner product of two lists of arrays."""
    total = 0.0
    for a, b in zip(u, v, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if not in_own_dtype:
            wide = "complex128" if "c" in (a.dtype.kind, b.dtype.kind) else "float64"
            a, b = a.astype(wide), b.astype(wide)
        total += float(np.real(np.vdot(a, b)))
    return total


def _difference(
    value: Callable[..., Any], point: Sequence[Array], v: Sequence[Array], step: float
) -> list[Array]:
    """Return the central difference of a function along a direction."""
    sides = []
    for sign in (step, -step):
        moved = [(x + sign * d).astype(x.dtype) for x, d in zip(point, v, strict=True)]
        results = value(*moved)
        wide = [
            np.asarray(r).astype("complex128" if np.iscomplexobj(r) else "float64") for r in results
        ]
        sides.append(wide)
    return [(ahead - behind) / (2 * step) for ahead, behind in zip(*sides, strict=True)]


def _debugs(mode: Any) -> bool:
    name = mode if isinstance(mode, str) else type(mode).__name__
    return name.lower().replace("_", "") in {"debug", "debugmode"}
