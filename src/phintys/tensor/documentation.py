"""Signatures and documentation of the elementwise functions, from the rows of the scalar table."""

from __future__ import annotations

import inspect
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import DtypeError, OpContractError
from phintys.scalar.row import Row
from phintys.tensor._operators import operators
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.tensor.elemwise import Elemwise

_KINDS = {
    "bools": np.dtype(np.bool_),
    "integers": np.dtype(np.int64),
    "floats": np.dtype(np.float64),
    "complex numbers": np.dtype(np.complex128),
}

_DEFAULT_EXAMPLES = {1: "[0.5, 1.0]", 2: "[1.0, 2.0], [3.0, 4.0]"}

_DIGITS = 4  # of results in examples: within the agreement between versions of NumPy and SciPy


def signature_of(op: Elemwise) -> inspect.Signature | None:
    """Return the signature of an elementwise function; ``None`` if its scalar op has no names.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> signature_of(pt.arctan2)
    <Signature (x1, x2, /, *, name=None)>
    """
    row = op.scalar_op
    if not isinstance(row, Row):
        return None
    kinds = inspect.Parameter
    parameters = [kinds(name, kinds.POSITIONAL_ONLY) for name in row.parameters]
    if row.nin < 0:
        parameters.append(kinds("more", kinds.VAR_POSITIONAL))
    parameters.append(kinds("name", kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


_OTHER_NAMES = ({"a", "input", "x", "x1"}, {"x2", "y"})
"""What other libraries call the first and the second operand of any function."""

_BRANCHES = {"cond": "condition", "ift": "x", "iff": "y"}
"""What PyTensor calls the operands of ``switch``."""


def operands_by_name(
    op: Elemwise, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return all operands of an elementwise function in order.

    Raises
    ------
    OpContractError
        A name is unknown, or an operand is missing or given twice.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> operands_by_name(pt.arctan2, [1.0], {"x2": 3.0})
    (1.0, 3.0)
    """
    row = op.scalar_op
    names = row.parameters if isinstance(row, Row) and row.nin >= 0 else ()
    operands = dict(zip(names, given, strict=False))
    for name, value in named.items():
        ours = name if name in names else _BRANCHES.get(name, name)
        if ours not in names:
            places = (i for i, others in enumerate(_OTHER_NAMES) if name in others)
            ours = next((names[i] for i in places if i < len(names)), None)
        if ours is None or ours in operands:
            problem = "has no operand of that name" if ours is None else f"got {ours!r} twice"
            has = (
                f"Its operands are {', '.join(names)}." if names else "Its operands have no names."
            )
            msg = f"{op}({name}=...): the function {problem}. {has}"
            raise OpContractError(msg)
        operands[ours] = value
    missing = [name for name in names if name not in operands]
    if missing or len(given) > len(names):
        msg = f"{op} takes the operands {', '.join(names)}; {', '.join(missing)} is missing."
        if not missing:
            msg = f"{op} takes {len(names)} operands, got {len(given) + len(named)}."
        raise OpContractError(msg)
    return tuple(operands[name] for name in names)


def operands_in_dtype(op: Elemwise, operands: Sequence[Any], dtype: Any) -> tuple[Any, ...]:
    """Return operands that are cast such that an elementwise function computes in a dtype.

    Raises
    ------
    DtypeError
        An operand cannot be cast to it without losing its kind, or the function returns another
        dtype for it.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.exp(pt.ivector("x"), dtype="float32").dtype
    'float32'
    """
    wanted = normalize_dtype(dtype)
    if _dtype_of(op, operands) == wanted:
        return tuple(operands)
    cast: list[Any] = []
    for operand in operands:
        x = as_tensor_variable(operand)
        if not np.can_cast(x.dtype, wanted, "same_kind"):
            msg = f"{op}: {x} of dtype {x.dtype} cannot be computed in {wanted}. Cast the result."
            raise DtypeError(msg)
        cast.append(operators.cast(x, wanted))
    found = _dtype_of(op, cast)
    if found != wanted:
        msg = f"{op}: the function of {wanted} numbers is {found}; it has no dtype {wanted}."
        raise DtypeError(msg)
    return tuple(cast)


def _dtype_of(op: Elemwise, operands: Sequence[Any]) -> str:
    """Return the dtype of the (first) result."""
    type_: Any = op.make_node(*operands).outputs[0].type
    return type_.dtype


def documentation_of(op: Elemwise) -> str | None:
    """Return the documentation of an elementwise function; ``None`` if its row has no description.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> print(documentation_of(pt.log))
    log(x, /, *, name=None)
    <BLANKLINE>
    Natural logarithm.
    ...
    """
    row = op.scalar_op
    if not isinstance(row, Row) or not row.doc:
        return None
    name = getattr(op, "__name__", None)
    lines = [
        f"{name or row.name}{signature_of(op)}",
        "",
        row.doc,
        "",
        *_parameters(row),
        "name : str, optional",
        "    Name of the result.",
        "",
        "Returns",
        "-------",
        "TensorVariable",
        "    The value for each element, of the shape to which the operands broadcast.",
    ]
    notes = _notes(op, row)
    if notes:
        lines += ["", "Notes", "-----", *notes]
    source, _, function = getattr(row, "reference", "").partition(":")
    if source in {"numpy", "scipy.special"}:
        lines += ["", "See Also", "--------", f"{source}.{function} : the function on arrays"]
    if row.source:
        lines += ["", "References", "----------", row.source]
    if not op.inplace_pattern:
        lines += ["", "Examples", "--------", *_example(row, name)]
    return "\n".join(lines) + "\n"


def _parameters(row: Row) -> list[str]:
    """Return the Parameters section, with operands that accept the same dtypes grouped."""
    accepted = [
        kinds
        for kinds in itertools.product(_KINDS, repeat=abs(row.nin))
        if _resolves(row, tuple(_KINDS[kind] for kind in kinds))
    ]
    named: dict[tuple[str, ...], list[str]] = {}
    for position, name in enumerate(row.parameters):
        taken = tuple(kind for kind in _KINDS if any(kinds[position] == kind for kinds in accepted))
        named.setdefault(taken, []).append(name if row.nin >= 0 else f"{name}, *more")
    lines = ["Parameters", "----------"]
    for taken, names in named.items():
        words = " or ".join(filter(None, (", ".join(taken[:-1]), taken[-1])))
        lines += [f"{', '.join(names)} : tensor, array or number", f"    {words.capitalize()}."]
    return lines


def _resolves(row: Row, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    try:
        row.resolve_dtypes(dtypes)
    except DtypeError:
        return False
    return True


def _notes(op: Elemwise, row: Row) -> list[str]:
    notes: list[str] = []
    if op.inplace_pattern:
        (into,) = set(op.inplace_pattern.values())
        notes.append(
            f"The result overwrites {row.parameters[into]}. Programs use the function that returns "
            "a new result; rewrites replace it by this one where that is safe."
        )
    if row.domain:
        notes.append(f"Defined for {row.domain}; elsewhere a real result is NaN or infinite.")
    if row.undefined:
        notes.append(f"Where there is no derivative: {row.undefined}.")
    return notes


def _example(row: Row, name: str | None) -> list[str]:
    arguments = row.example or _DEFAULT_EXAMPLES[1 if row.nin == 1 else 2]
    values = eval(f"({arguments},)", {"__builtins__": {"float": float}})  # noqa: S307 - our own text
    result = np.asarray(row.impl(*(np.asarray(value) for value in values)))
    call, rounded = f"pt.{name}({arguments}).eval()", ""
    lines = [">>> import phintys.tensor as pt"]
    if name is None:
        call = f"pt.Elemwise({row.name})({arguments}).eval()"
        if getattr(ps, row.name, None) is row:
            lines.insert(0, ">>> import phintys.scalar as ps")
            call = call.replace("(", "(ps.", 1)
    if result.dtype.kind in "fc" and not np.array_equal(result, np.round(result, 1)):
        rounded, result = f".round({_DIGITS})", np.round(result, _DIGITS)
    with np.printoptions(threshold=1000, linewidth=75, precision=8, suppress=False):
        return [*lines, f">>> {call}{rounded}", repr(result)]
