"""Functions with gradients of their own: ``custom_gradient``."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.nested_containers import rebuilt
from phintys.gradient.custom_rules import FunctionWithRules, Rules
from phintys.gradient.graph_ops import graph_ops
from phintys.gradient.tracing import (
    captured_by,
    name_of,
    outputs_of,
    place_of,
    separate,
    updates_outside,
)
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
    name: str | None = None,
) -> Any:
    """Give a function of variables a gradient of its own; a decorator.

    The gradient is defined in one of two ways:

    - The function returns its value and a function that maps gradients for the value to gradients
      for the arguments.
    - ``f.defvjp(fwd, bwd)``: ``fwd(*args)`` returns the value and *residuals*, any variables that
      ``bwd(residuals, gradients)`` needs to return the gradients for the arguments.

    ``f.defjvp(jvp)`` defines the forward derivative: ``jvp(args, tangents)`` returns the value and
    its tangents. If only one of the two derivatives is defined, the other one follows from it.

    Parameters
    ----------
    fun
        The function. Its arguments and results are variables, or tuples, lists and dicts of them,
        of any depth. Arguments can be anything else, too, which is passed on as it is.
    nondiff_argnums, nondiff_argnames
        Numbers and names of arguments that have no gradient, such as options. They are passed to
        ``bwd`` and ``jvp`` before the other arguments, and left out of the gradients.
    name
        A name, for printing and profiles; by default that of the function.

    Returns
    -------
    CustomGradient
        The function, with the methods ``defvjp`` and ``defjvp``. Without ``fun``, a decorator.

    Raises
    ------
    ArgumentError
        An argument is invalid. Calls raise it if the function has no gradient, or does not return
        variables; what is wrong with a gradient is raised by the gradient that uses it.

    See Also
    --------
    phintys.control.OpFromGraph : an Op made of an expression, with ``lop_overrides``.

    Notes
    -----
    Gradients are given in the form of the arguments: a tuple with one entry for each argument, in
    which ``None`` stands for zeros; with a single argument, the entry alone will do. A result that
    is a tuple is one argument of the gradient function, a tuple of gradients. The gradient for
    something that the result does not reach is zeros.

    Variables from outside that the function uses have the gradients of the expression. Second
    derivatives are those of what the rules return.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import custom_gradient
    >>> @custom_gradient
    ... def log1pexp(x):
    ...     e = pt.exp(x)
    ...     return pt.log(1 + e), lambda g: g * (1 - 1 / (1 + e))
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(log1pexp(x), x).eval({x: 100.0}))
    1.0

    With a rule for each direction:

    >>> @custom_gradient
    ... def root(x):
    ...     return pt.sqrt(x)
    >>> def root_fwd(x):
    ...     y = root(x)
    ...     return y, y
    >>> def root_bwd(y, g):
    ...     return (g / pt.maximum(2 * y, 0.1),)
    >>> root.defvjp(root_fwd, root_bwd)
    >>> slope = phintys.grad(root(x), x)
    >>> float(slope.eval({x: 0.0})), float(slope.eval({x: 4.0}))
    (10.0, 0.25)
    """
    if fun is None:
        return functools.partial(
            custom_gradient,
            nondiff_argnums=nondiff_argnums,
            nondiff_argnames=nondiff_argnames,
            name=name,
        )
    return CustomGradient(fun, nondiff_argnums, nondiff_argnames, name)


class CustomGradient(FunctionWithRules):
    """A function with a gradient of its own. Use :func:`custom_gradient` to make one.

    Parameters
    ----------
    fun, nondiff_argnums, nondiff_argnames, name
        As for :func:`custom_gradient`.

    Attributes
    ----------
    fun
        The function itself.
    fwd, bwd, jvp
        The rules, ``None`` where there are none.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        _require_function(fun, "custom_gradient is a decorator of functions", "custom_gradient(f)")
        functools.update_wrapper(self, fun)
        self._signature = _signature_of(fun)
        nondiff = _positions(nondiff_argnums, nondiff_argnames, self._signature, fun)
        super().__init__(fun, name_of(fun) if name is None else name, nondiff)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Define the reverse derivative.

        Parameters
        ----------
        fwd
            Called with the arguments of the function. Returns a pair: the value, and residuals: a
            variable or a nest of variables, numbers and ``None``.
        bwd
            Called with the arguments that have no gradient, the residuals, and the gradients for
            the value, in its form. Returns a tuple with a gradient for each other argument.

        Examples
        --------
        >>> import phintys, phintys.tensor as pt
        >>> from phintys.gradient import custom_gradient
        >>> @custom_gradient(nondiff_argnums=(1,))
        ... def clipped(x, bound):
        ...     return x
        >>> clipped.defvjp(
        ...     lambda x, bound: (x, None), lambda bound, _, g: (pt.clip(g, -bound, bound),)
        ... )
        >>> x = pt.dscalar("x")
        >>> float(phintys.grad(clipped(x, 1.5) * 7, x).eval())
        1.5
        """
        for rule, function in (("fwd", fwd), ("bwd", bwd)):
            _require_function(function, f"{rule} must be a function", f"{self.name}.defvjp")
        self.fwd, self.bwd = fwd, bwd

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Define the forward derivative; also a decorator.

        Parameters
        ----------
        jvp
            Called with the arguments that have no derivative, a tuple of the others, and a tuple of
            their tangents, with zeros for those that do not move, and ``None`` for what is not a
            variable. Returns a pair: the value, and its tangents, which are linear in those given.

        Returns
        -------
        function
            The rule itself.

        Examples
        --------
        >>> import phintys, phintys.tensor as pt
        >>> from phintys.gradient import custom_gradient
        >>> @custom_gradient
        ... def xlog(x, y):
        ...     return x * pt.log(y)
        >>> @xlog.defjvp
        ... def xlog_jvp(primals, tangents):
        ...     (x, y), (dx, dy) = primals, tangents
        ...     return xlog(x, y), dx * pt.log(y) + dy * x / y
        >>> x, y = pt.dscalars("x", "y")
        >>> float(phintys.grad(xlog(x, y), y).eval({x: 3.0, y: 2.0}))
        1.5
        """
        _require_function(jvp, "jvp must be a function", f"{self.name}.defjvp")
        self.jvp = jvp
        return jvp

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of the function."""
        given = self._in_order(args, kwargs)
        fixed = [one for at, one in enumerate(given) if at in self.nondiff]
        arguments, leaves = separate(
            [one for at, one in enumerate(given) if at not in self.nondiff]
        )
        stand_ins = [leaf.type.make_variable(leaf.name) for leaf in leaves]
        with updates_outside(stand_ins, leaves):
            result = self.fun(*self.merged(fixed, arguments.holding(stand_ins)))
        pullback = None
        if self.fwd is None and self.jvp is None:
            result, pullback = self.split(result)
        outputs = outputs_of(result, self.fun, "custom_gradient")
        captured = captured_by(outputs, stand_ins)
        inputs = [*stand_ins, *captured]
        rules = Rules(self, tuple(fixed), arguments, rebuilt(result, outputs), pullback, inputs)
        op = graph_ops().custom_gradient(inputs, outputs, rules, self.name)
        found = op(*leaves, *captured, return_list=True)
        return rebuilt(result, found)

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments by position, with defaults."""
        if self._signature is None:
            if not kwargs:
                return args
            msg = f"{self.name} has no known signature: give all arguments by position."
            raise ArgumentError(msg)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            msg = (
                f"The arguments {names} of {self.name} can only be given by name, and those of "
                f"a function under custom_gradient must have positions.{place_of(self.fun)}"
            )
            raise ArgumentError(msg)
        return bound.args

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        module = sys.modules.get(getattr(self, "__module__", None) or "")
        qualified = getattr(self, "__qualname__", "")
        found: Any = module
        for part in qualified.split("."):
            found = getattr(found, part, None)
        if found is self:
            return qualified
        rules = {"fwd": self.fwd, "bwd": self.bwd, "jvp": self.jvp}
        return CustomGradient, (self.fun, self.nondiff, (), self.name), rules

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomGradient:
        return self


def _require_function(given: object, what: str, where: str) -> None:
    if not callable(given) or isinstance(given, Variable):
        msg = f"{what}: {where} was given {given!r} of type {type(given).__name__}."
        raise ArgumentError(msg)


def _signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):  # of some functions that are not written in Python
        return None


def _positions(
    numbers: int | Sequence[int],
    names: str | Sequence[str],
    signature: inspect.Signature | None,
    fun: Callable[..., Any],
) -> tuple[int, ...]:
    """Return the positions of the arguments that have no gradient, in order."""
    known = [] if signature is None else list(signature.parameters)
    found: set[int] = set()
    for number in [numbers] if isinstance(numbers, int) else numbers:
        if not isinstance(number, int) or not -len(known) <= number:
            msg = (
                f"nondiff_argnums must be numbers of arguments of {name_of(fun)}({', '.join(known)}"
                f"), got {number!r}."
            )
            raise ArgumentError(msg)
        found.add(number if number >= 0 else number + len(known))
    for name in [names] if isinstance(names, str) else names:
        if name not in known:
            msg = (
                f"nondiff_argnames must be names of arguments of {name_of(fun)}({', '.join(known)}"
                f"), got {name!r}."
            )
            raise ArgumentError(msg)
        found.add(known.index(name))
    return tuple(sorted(found))
