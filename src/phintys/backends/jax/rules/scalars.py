"""Elementwise Ops, and scalar functions on arrays of JAX.

A function is the one of JAX that :data:`_FUNCTIONS` names, or that has the name of its ufunc; else
its row's expansion; else it runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import converted, jax, jnp, jsp, lax
from phintys.backends.jax.host import call_host
from phintys.backends.jax.rules import special
from phintys.backends.jax.rules.random_bits import rejection, word_at
from phintys.backends.jax.tracing import MisfitError, Trace, converts
from phintys.random.exact import steps
from phintys.scalar.casting import Cast
from phintys.scalar.composite import Composite
from phintys.scalar.expansion import expanded
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.scalar.formula import Formula

Dtypes = Sequence[np.dtype[Any]]

_OF_SPECIAL = {
    *("betaincc", "cosine_integral", "digamma", "expn", "fresnel_cosine", "fresnel_sine"),
    *("log_ndtr", "sine_integral", "trigamma", "zeta"),
}
"""Functions that call special functions of JAX."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": jnp.abs,
    "and_": jnp.bitwise_and,
    "angle": jnp.angle,
    "beta": special.beta,
    "beta_density": special.beta_density,
    "betainc": jsp.betainc,
    "betaincc": special.betaincc,
    "betaln": special.betaln,
    "clip": lambda x, low, high: jnp.minimum(jnp.maximum(x, low), high),
    "complex": lambda x, y: lax.complex(*_as_parts(x, y)),
    "complex_from_polar": lambda r, t: _from_polar(*_as_parts(r, t)),
    "cosine_integral": lambda x: jsp.sici(x)[1],
    "dawsn": jsp.dawsn,
    "digamma": special.digamma,
    "entr": jsp.entr,
    "eq": jnp.equal,
    "erf": jsp.erf,
    "erfc": jsp.erfc,
    "erfcinv": special.erfcinv,
    "erfcx": jsp.erfcx,
    "erfinv": jsp.erfinv,
    "exp1": jsp.exp1,
    "exp2_share": special.exp2_share,
    "exp_of_product": special.exp_of_product,
    "exp_share": special.exp_share,
    "expi": jsp.expi,
    "expn": special.expn,
    "factorial": special.factorial,
    "fmax": special.extreme(jnp.fmax, jnp.greater_equal, keeps_nan=False),
    "fmin": special.extreme(jnp.fmin, jnp.less_equal, keeps_nan=False),
    "fmod": special.whole_division(jnp.fmod),
    "fresnel_cosine": lambda x: jsp.fresnel(x)[1],
    "fresnel_sine": lambda x: jsp.fresnel(x)[0],
    "gamma": special.gamma,
    "gamma_density": special.gamma_density,
    "gammainc": jsp.gammainc,
    "gammaincc": jsp.gammaincc,
    "gammaln": jsp.gammaln,
    "ge": special.comparison(jnp.greater_equal),
    "gt": special.comparison(jnp.greater),
    "i0": jsp.i0,
    "i0e": jsp.i0e,
    "i1": jsp.i1,
    "i1e": jsp.i1e,
    "identity": lambda x: x,
    "imag": jnp.imag,
    "int_div": special.whole_division(jnp.floor_divide),
    "invert": jnp.invert,
    "le": special.comparison(jnp.less_equal),
    "log1mexp": special.log1mexp,
    "log_ndtr": special.log_ndtr,
    "log_sigmoid": jax.nn.log_sigmoid,
    "lt": special.comparison(jnp.less),
    "maximum": special.extreme(jnp.maximum, jnp.greater_equal, keeps_nan=True),
    "minimum": special.extreme(jnp.minimum, jnp.less_equal, keeps_nan=True),
    "mod": special.whole_division(jnp.mod),
    "ndtr": jsp.ndtr,
    "ndtri": jsp.ndtri,
    "ndtri_exp": special.ndtri_exp,
    "ne": jnp.not_equal,
    "neg": jnp.negative,
    "or_": jnp.bitwise_or,
    "poch": special.poch,
    "polygamma": special.polygamma,
    "pow": jnp.power,
    "pow_less_one": special.pow_less_one,
    "real": jnp.real,
    "round_half_away": special.round_half_away,
    "second": special.second,
    "sigmoid": jax.nn.sigmoid,
    "sign": jnp.sign,
    "sine_integral": lambda x: jsp.sici(x)[0],
    "softplus": jax.nn.softplus,
    "softsign": lambda x: x / (1 + jnp.abs(x)),
    "spacing": special.spacing,
    "spence": jsp.spence,
    "sqr": jnp.square,
    "sub": jnp.subtract,
    "switch": lambda c, x, y: jnp.where(c if c.dtype == bool else c != 0, x, y),
    "trigamma": lambda x: jsp.polygamma(1, x),
    "true_div": special.quotient,
    "xlog1py": jsp.xlog1py,
    "xlogy": jsp.xlogy,
    "xor": jnp.bitwise_xor,
    "zeta": special.zeta,
}

_CHAINED = frozenset(
    "maximum minimum logical_and logical_or and_ or_ xor fmax fmin".split()  # noqa: SIM905 - shorter
)
"""Functions of any number of arguments, as they are of two."""

_UNCAST = {"switch": (0,), "second": (0,), "clip": ()}
"""The first arguments keep their dtype, the others have that of the result."""

_BY_EXPANSION = {"kl_div", "logit", "rel_entr"}
"""Functions of which JAX's lose digits where the result is small."""

_OF_FLOATS = {"digamma", "erf", "erfc", "log_ndtr", "ndtr"}
"""Functions that JAX does not have of complex numbers."""

_MOST_RARE = 2
"""How much more than the usual steps may the rare ones cost if they are computed for all elements.

For draws of normal numbers it is 1.9: they compile in 0.6 of the time that a choice takes, and run
in 0.7 of it on two cores.
"""

_PRODUCTS = {"mul", "sqr"}
_ARITHMETIC = {"add", "sub", "true_div", *_PRODUCTS}

_OF_LAX: dict[str, Callable[..., Any]] = {
    "add": lax.add,
    "and_": lax.bitwise_and,
    "eq": lax.eq,
    "ge": lax.ge,
    "gt": lax.gt,
    "le": lax.le,
    "lt": lax.lt,
    "mul": lax.mul,
    "ne": lax.ne,
    "or_": lax.bitwise_or,
    "sub": lax.sub,
    "xor": lax.bitwise_xor,
}
"""Operators of real numbers of one dtype: those of :mod:`jax.numpy` end in them, and take two to
three times as long to trace."""

_OF_COMPLEX = {"real", "imag", "angle", "complex", "complex_from_polar"}


@converts(Elemwise)
def elemwise(op: Any, node: Apply, trace: Trace, *inputs: Any) -> list[Any]:
    """Apply the scalar op; only sizes that are statically 1 are broadcast."""
    _check_sizes(node, inputs)
    dtypes = [np.dtype(output.type.dtype) for output in node.outputs]  # pyright: ignore[reportAttributeAccessIssue]
    shape = np.broadcast_shapes(*(np.shape(value) for value in inputs))
    args = [jnp.asarray(value) for value in _with_scalars(inputs)]
    are_draws = any(trace.draws.get(value) for value in inputs)
    apply = apply_exactly if are_draws else apply_scalar
    found = apply(op.scalar_op, args, dtypes, trace, node)
    results = [
        converted(jnp.broadcast_to(result, shape), dtype)
        for result, dtype in zip(found, dtypes, strict=True)
    ]
    if are_draws or isinstance(op.scalar_op, steps.RandomWord):
        for result in results:
            trace.draws[result] = True
    return results


def _with_scalars(values: Sequence[Any]) -> Sequence[Any]:
    """Return values of which those with one element are scalars, if others are larger.

    XLA takes ``x / exp(s)`` apart into ``x * exp(-s)`` where ``s`` is an array of one element, and
    computes the product again in each kernel that uses it.
    """
    if all(np.size(value) == 1 for value in values):
        return values
    return [value.reshape(()) if np.size(value) == 1 else value for value in values]


def _check_sizes(node: Apply, inputs: Sequence[Any]) -> None:
    for axis in range(max((np.ndim(value) for value in inputs), default=0)):
        sizes = {
            np.shape(value)[axis]
            for value, variable in zip(inputs, node.inputs, strict=True)
            if variable.type.shape[axis] != 1  # pyright: ignore[reportAttributeAccessIssue]
        }
        if len(sizes) > 1:
            raise MisfitError(node)


def is_converted(op: Any) -> bool:
    """Return whether a function of the table runs on the device."""
    if isinstance(op, Cast) or op.name in {"add", "mul", *_UNCAST}:
        return True
    return _function_of(op) is not None or getattr(op, "expansion", None) is not None


def _as_parts(*values: Any) -> list[Any]:
    """Return the parts of complex numbers as floats of one dtype: float64 but for float32 alone."""
    is_single = all(value.dtype == np.float32 for value in values)
    return [value.astype("float32" if is_single else "float64") for value in values]


def _from_polar(r: Any, t: Any) -> Any:
    return lax.complex(r * jnp.cos(t), r * jnp.sin(t))


def apply_scalar(
    op: Any, args: Sequence[Any], results: Dtypes, trace: Trace, node: Apply
) -> list[Any]:
    """Apply a scalar op to arrays of JAX, which are broadcast.

    Parameters
    ----------
    op
        The scalar op.
    args
        Its arguments.
    results
        The dtypes of its results.
    trace, node
        For what runs on the host.
    """
    dtypes = [np.dtype(arg.dtype) for arg in args]
    out = np.dtype(results[0])
    match op:
        case Composite():
            return apply_formula(op.formula, args, trace, node)
        case Cast():
            (x,) = args
            return [x != 0 if out.kind == "b" else converted(x, out)]
        case steps.FloatBits() | steps.FloatOfBits():
            return [lax.bitcast_convert_type(args[0], out)]
        case steps.RandomWord():
            return [_random_word(out, *args)]
        case steps.RareCase():
            return [_rare_case(op, jnp.broadcast_arrays(*args), results, trace, node)]
        case steps.Rejection():
            inner = trace.inner()

            def apply(some: Composite, values: Sequence[Any]) -> list[Any]:
                return apply_formula(some.formula, values, inner, node, apply_exactly)

            return [rejection(op, args, out, inner, apply)]
        case _:
            return [_apply_named(op, args, dtypes, results, trace, node)]


def apply_formula(
    formula: Formula,
    args: Sequence[Any],
    trace: Trace,
    node: Apply,
    apply: Callable[..., list[Any]] = apply_scalar,
) -> list[Any]:
    """Apply the steps of a composite op, each by ``apply``."""
    values = [
        converted(arg, type_.numpy_dtype)
        for arg, type_ in zip(args, formula.input_types, strict=True)
    ]
    # NumPy converts: jnp.asarray takes ten times as long if it is given a dtype.
    constants = (np.asarray(c.data, c.type.numpy_dtype) for c in formula.constants)
    values += map(jnp.asarray, constants)
    for step in formula.steps:
        dtypes = [type_.numpy_dtype for type_ in step.types]
        values += apply(step.op, [values[i] for i in step.args], dtypes, trace, node)
    return [values[i] for i in formula.results]


def apply_exactly(
    op: Any, args: Sequence[Any], results: Dtypes, trace: Trace, node: Apply
) -> list[Any]:
    """Apply a scalar op whose result is rounded by itself, as exact steps demand.

    XLA computes sums, products and quotients by constants together, and quotients by one number as
    products; it does not look behind a barrier, which costs nothing in the end. LLVM joins products
    and sums to single instructions; it does not look behind a choice.
    """
    drawn = [arg for arg in args if trace.draws.get(arg)]
    found = _rounded(op, args, drawn, results, trace, node)
    if drawn:
        for result in found:
            trace.draws[result] = True
    return found


def _rounded(
    op: Any, args: Sequence[Any], drawn: Sequence[Any], results: Dtypes, trace: Trace, node: Apply
) -> list[Any]:
    if isinstance(op, Composite):
        return apply_formula(op.formula, args, trace, node, apply_exactly)
    if op.name not in _ARITHMETIC or results[0].kind != "f":
        return apply_scalar(op, args, results, trace, node)
    if op.name == "true_div":
        number, divisor = jnp.broadcast_arrays(*args)
        args = [number, lax.optimization_barrier(divisor)]
    (found,) = apply_scalar(op, args, results, trace, node)
    if op.name not in _PRODUCTS:
        return [lax.optimization_barrier(found)]
    # The last factor of all steps of a polynomial is its argument: they share one condition.
    factors = (x for x in reversed(drawn) if (x.shape, x.dtype) == (found.shape, found.dtype))
    return [_behind_choice(found, next(factors, found))]


@jax.jit
def _behind_choice(product: Any, x: Any) -> Any:
    """Return a product as a choice between it and -x, where x is a factor or the product itself.

    It is -x where x is a certain NaN. LLVM must not see which one is chosen: it knows of some
    numbers that they are never NaN, and of some their sign, but not the other bits. Nor must -x be
    a constant or a factor: it moves products and sums into such choices.
    """
    bits = lax.bitcast_convert_type(x, f"uint{8 * x.dtype.itemsize}")
    ones = bits.dtype.type(np.iinfo(bits.dtype).max)
    return lax.select(bits << 1 == ones << 1, -x, product)


def _apply_named(
    op: Any, args: Sequence[Any], dtypes: Dtypes, results: Dtypes, trace: Trace, node: Apply
) -> Any:
    name, out = op.name, np.dtype(results[0])
    if name in _OF_LAX and _fit_lax(args, out):
        return _OF_LAX[name](*args)
    if name in ("add", "mul"):
        return _sum_or_product(name, [converted(arg, out) for arg in args])
    if name in _UNCAST:
        kept = _UNCAST[name]
        return _FUNCTIONS[name](
            *(a if i in kept else converted(a, out) for i, a in enumerate(args))
        )
    function = _function_of(op)
    if name in _OF_FLOATS and any(dtype.kind == "c" for dtype in dtypes):
        function = None
    if function is not None and name in _CHAINED and len(args) != 2:
        return reduce(function, args).astype(out)
    if function is not None:
        return function(*_widened(name, function, _cast(op, args, dtypes, out))).astype(out)
    if getattr(op, "expansion", None) is not None:
        apply = apply_exactly if isinstance(op, steps.ExactRow) else apply_scalar
        (found,) = apply_formula(expanded(op, dtypes).formula, args, trace, node, apply)
        return found
    return _on_host(op, args, out, trace, node)


def _fit_lax(args: Sequence[Any], out: np.dtype[Any]) -> bool:
    """Return whether :data:`_OF_LAX` applies to arguments; it broadcasts scalars alone."""
    if len(args) != 2:
        return False
    x, y = args
    is_real = x.dtype == y.dtype and x.dtype.kind in "iuf"
    is_of_result = x.dtype == out or out.kind == "b"
    return is_real and is_of_result and (x.shape == y.shape or () in (x.shape, y.shape))


def _widened(name: str, function: Any, args: Sequence[Any]) -> Sequence[Any]:
    """Return arguments in which a special function of JAX can compute: it has none of 16 bits."""
    called = getattr(function, "__name__", "")
    if name not in _OF_SPECIAL and getattr(jsp, called, None) is not function:
        return args
    return [arg.astype("float32") if arg.dtype == np.float16 else arg for arg in args]


def _sum_or_product(name: str, args: Sequence[Any]) -> Any:
    if args[0].dtype.kind == "b":
        return reduce(jnp.logical_or if name == "add" else jnp.logical_and, args)
    return reduce(jnp.add if name == "add" else jnp.multiply, args)


def _function_of(op: Any) -> Callable[..., Any] | None:
    if op.name in _FUNCTIONS:
        return _FUNCTIONS[op.name]
    ufunc = getattr(op, "ufunc", None)
    if not isinstance(ufunc, np.ufunc) or op.name in _BY_EXPANSION:
        return None
    return getattr(jnp, ufunc.__name__, None) or getattr(jsp, ufunc.__name__, None)


def _cast(op: Any, args: Sequence[Any], dtypes: Dtypes, out: np.dtype[Any]) -> Sequence[Any]:
    """Return arguments in the dtypes in which NumPy would compute."""
    ufunc = getattr(op, "ufunc", None)
    if isinstance(ufunc, np.ufunc) and ufunc.nin == len(args):
        try:
            loop = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))[: ufunc.nin]
        except (TypeError, ValueError):
            pass
        else:
            return [converted(arg, dtype) for arg, dtype in zip(args, loop, strict=True)]
    if out.kind in "fc" and op.name not in _OF_COMPLEX:
        return [converted(arg, out) if arg.dtype.kind in "biuf" else arg for arg in args]
    return args


def _on_host(op: Any, args: Sequence[Any], out: np.dtype[Any], trace: Trace, node: Apply) -> Any:
    trace.session.use_host(op.name, node, "JAX has no such function, and it has no expansion")
    shape = jnp.broadcast_shapes(*(arg.shape for arg in args))

    def call(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            found = op.impl(*(np.asarray(value) for value in values))
        given = np.broadcast_shapes(*(np.shape(value) for value in values))
        return [np.asarray(np.broadcast_to(found, given), out)]

    def on_part(*parts: Any) -> Any:
        spec = jax.ShapeDtypeStruct(parts[0].shape, out)
        return call_host(call, [spec], parts, "broadcast_all")[0]

    args = jnp.broadcast_arrays(*args)
    layout = trace.session.layout
    if layout is None or layout.mesh.size == 1:
        return on_part(*args)
    # Each device calls the host with its part: JAX would gather the array on one of them.
    spec = layout.split(shape)
    specs = (spec,) * len(args)
    return jax.shard_map(
        on_part, mesh=layout.mesh, in_specs=specs, out_specs=spec, check_vma=False
    )(*args)


def _random_word(out: np.dtype[Any], position: Any, *state: Any) -> Any:
    """The bits of a draw at a position; several fit into a word of 64 bits."""
    width = 8 * out.itemsize
    parts = np.uint64(64 // width)
    word = word_at(position // parts, *state)
    return (word >> (position % parts * np.uint64(width))).astype(out)


def _rare_case(op: Any, args: Sequence[Any], results: Dtypes, trace: Trace, node: Apply) -> Any:
    """The rare steps run only if some element needs them, or for all if they cost little more.

    A choice cuts a kernel in many, which takes longer to compile. In loops and in other steps it is
    worth it: there is often no element that needs the rare steps.
    """
    usual, rare, is_rare = op.formulas([np.dtype(arg.dtype) for arg in args])
    inner = trace.inner()

    def applied(part: Composite) -> Any:
        (found,) = apply_formula(part.formula, args, inner, node, apply_exactly)
        return jnp.broadcast_to(found, args[0].shape)

    found, where = applied(usual), applied(is_rare)

    def chosen() -> Any:
        return lax.select(where, applied(rare), found)

    if trace.depth == 0 and rare.cost <= _MOST_RARE * usual.cost:
        return chosen()
    return lax.cond(jnp.any(where), chosen, lambda: found)
