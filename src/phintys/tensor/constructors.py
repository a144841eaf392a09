"""Constructors of tensor variables.

The names follow a scheme. ``vector("x")`` has the configured ``floatX``, or the given dtype.
``dvector`` is the *type* of float64 vectors, and calling it makes a variable, as calling any type
does. ``dvectors("x", "y")`` and ``dvectors(2)`` make several variables.

Letters: ``b`` int8, ``w`` int16, ``i`` int32, ``l`` int64, ``f`` float32, ``d`` float64,
``c`` complex64, ``z`` complex128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import TypeContractError
from phintys._base.names import public_dir
from phintys.tensor.type import TensorType, normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.tensor.variable import TensorVariable

    Shape = Iterable[int | None]

__all__ = [
    "Several",
    "bcol",
    "bcols",
    "bmatrices",
    "bmatrix",
    "brow",
    "brows",
    "bscalar",
    "bscalars",
    "btensor3",
    "btensor3s",
    "btensor4",
    "btensor4s",
    "btensor5",
    "btensor5s",
    "btensor6",
    "btensor6s",
    "btensor7",
    "btensor7s",
    "bvector",
    "bvectors",
    "ccol",
    "ccols",
    "cmatrices",
    "cmatrix",
    "col",
    "cols",
    "crow",
    "crows",
    "cscalar",
    "cscalars",
    "ctensor3",
    "ctensor3s",
    "ctensor4",
    "ctensor4s",
    "ctensor5",
    "ctensor5s",
    "ctensor6",
    "ctensor6s",
    "ctensor7",
    "ctensor7s",
    "cvector",
    "cvectors",
    "dcol",
    "dcols",
    "dmatrices",
    "dmatrix",
    "drow",
    "drows",
    "dscalar",
    "dscalars",
    "dtensor3",
    "dtensor3s",
    "dtensor4",
    "dtensor4s",
    "dtensor5",
    "dtensor5s",
    "dtensor6",
    "dtensor6s",
    "dtensor7",
    "dtensor7s",
    "dvector",
    "dvectors",
    "fcol",
    "fcols",
    "fmatrices",
    "fmatrix",
    "frow",
    "frows",
    "fscalar",
    "fscalars",
    "ftensor3",
    "ftensor3s",
    "ftensor4",
    "ftensor4s",
    "ftensor5",
    "ftensor5s",
    "ftensor6",
    "ftensor6s",
    "ftensor7",
    "ftensor7s",
    "fvector",
    "fvectors",
    "icol",
    "icols",
    "imatrices",
    "imatrix",
    "irow",
    "irows",
    "iscalar",
    "iscalars",
    "itensor3",
    "itensor3s",
    "itensor4",
    "itensor4s",
    "itensor5",
    "itensor5s",
    "itensor6",
    "itensor6s",
    "itensor7",
    "itensor7s",
    "ivector",
    "ivectors",
    "lcol",
    "lcols",
    "lmatrices",
    "lmatrix",
    "lrow",
    "lrows",
    "lscalar",
    "lscalars",
    "ltensor3",
    "ltensor3s",
    "ltensor4",
    "ltensor4s",
    "ltensor5",
    "ltensor5s",
    "ltensor6",
    "ltensor6s",
    "ltensor7",
    "ltensor7s",
    "lvector",
    "lvectors",
    "matrices",
    "matrix",
    "row",
    "rows",
    "scalar",
    "scalars",
    "tensor",
    "tensor3",
    "tensor3s",
    "tensor4",
    "tensor4s",
    "tensor5",
    "tensor5s",
    "tensor6",
    "tensor6s",
    "tensor7",
    "tensor7s",
    "vector",
    "vectors",
    "wcol",
    "wcols",
    "wmatrices",
    "wmatrix",
    "wrow",
    "wrows",
    "wscalar",
    "wscalars",
    "wtensor3",
    "wtensor3s",
    "wtensor4",
    "wtensor4s",
    "wtensor5",
    "wtensor5s",
    "wtensor6",
    "wtensor6s",
    "wtensor7",
    "wtensor7s",
    "wvector",
    "wvectors",
    "zcol",
    "zcols",
    "zmatrices",
    "zmatrix",
    "zrow",
    "zrows",
    "zscalar",
    "zscalars",
    "ztensor3",
    "ztensor3s",
    "ztensor4",
    "ztensor4s",
    "ztensor5",
    "ztensor5s",
    "ztensor6",
    "ztensor6s",
    "ztensor7",
    "ztensor7s",
    "zvector",
    "zvectors",
]


def tensor(
    name: str | None = None,
    *,
    shape: Shape | None = None,
    dtype: Any = "floatX",
    broadcastable: Iterable[bool] | None = None,
) -> TensorVariable:
    """Return a tensor variable of any rank.

    Parameters
    ----------
    name
        The name of the variable.
    shape
        For each dimension its size, or ``None`` if unknown.
    dtype
        The configured ``floatX`` by default.
    broadcastable
        Instead of the shape: for each dimension whether its size is 1.

    Returns
    -------
    TensorVariable
        A variable whose rank is the length of ``shape``.

    Raises
    ------
    TypeContractError
        No shape is given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor("images", shape=(None, 8, 8), dtype="float32").type
    Tensor3(float32, shape=(?, 8, 8))
    """
    if broadcastable is not None:
        shape = [1 if one else None for one in broadcastable]
    if shape is None:
        msg = (
            "tensor() needs the rank: give shape=, with None for unknown sizes, as in "
            f"tensor({name!r}, shape=(None, None))."
        )
        raise TypeContractError(msg)
    return TensorType(dtype, shape).make_variable(name)


def _make(
    name: str | None, dtype: Any, shape: Shape | None, pattern: tuple[int | None, ...]
) -> TensorVariable:
    """Make a variable whose shape matches ``pattern``."""
    dtype = "floatX" if dtype is None else normalize_dtype(dtype)
    if shape is None:
        return TensorType(dtype, pattern).make_variable(name)
    made = TensorType(dtype, shape)
    if not TensorType(dtype, pattern).is_super(made):
        msg = f"Expected a shape of the form {pattern} (None: any size), got {made.shape}."
        raise TypeContractError(msg)
    return made.make_variable(name)


def scalar(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 0-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.scalar("x", dtype="int64").type
    Scalar(int64)
    """
    return _make(name, dtype, shape, ())


def vector(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 1-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vector("x", dtype="float32", shape=(3,)).type
    Vector(float32, shape=(3,))
    """
    return _make(name, dtype, shape, (None,))


def matrix(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 2-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 2.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.matrix("x", shape=(None, 3)).type
    Matrix(float64, shape=(?, 3))
    """
    return _make(name, dtype, shape, (None, None))


def row(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 2-d variable with one row: the first dimension has size 1, and so broadcasts.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of static shape ``(1, None)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.row("x").type
    Matrix(float64, shape=(1, ?))
    """
    return _make(name, dtype, shape, (1, None))


def col(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 2-d variable with one column: the second dimension has size 1, and so broadcasts.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of static shape ``(None, 1)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.col("x").type
    Matrix(float64, shape=(?, 1))
    """
    return _make(name, dtype, shape, (None, 1))


def tensor3(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 3-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 3.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor3("x").type
    Tensor3(float64, shape=(?, ?, ?))
    """
    return _make(name, dtype, shape, (None,) * 3)


def tensor4(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 4-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 4.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor4("x", shape=(2, None, 3, 3)).type
    Tensor4(float64, shape=(2, ?, 3, 3))
    """
    return _make(name, dtype, shape, (None,) * 4)


def tensor5(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 5-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 5.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor5("x", dtype="int8").type
    Tensor5(int8, shape=(?, ?, ?, ?, ?))
    """
    return _make(name, dtype, shape, (None,) * 5)


def tensor6(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 6-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 6.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor6("x").type
    Tensor6(float64, shape=(?, ?, ?, ?, ?, ?))
    """
    return _make(name, dtype, shape, (None,) * 6)


def tensor7(
    name: str | None = None, *, dtype: Any = None, shape: Shape | None = None
) -> TensorVariable:
    """Return a 7-d variable.

    Parameters
    ----------
    name
        A name, for printing and for keyword arguments of functions.
    dtype
        Its dtype; ``config.floatX`` by default.
    shape
        Its static shape, with ``None`` for sizes that are known only at run time.

    Returns
    -------
    TensorVariable
        A variable of rank 7.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.tensor7("x").type
    Tensor7(float64, shape=(?, ?, ?, ?, ?, ?, ?))
    """
    return _make(name, dtype, shape, (None,) * 7)


class Several:
    """Make several variables at once, given their names, or their number if unnamed.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> len(pt.dscalars(3))
    3
    """

    def __init__(self, one: Callable[..., Any], name: str) -> None:
        self._one = one
        self._name = name

    def __call__(self, *names: str | int | None, **options: Any) -> list[TensorVariable]:
        """Return a list of variables.

        Parameters
        ----------
        names
            The name of each variable, or a single int: the number of variables to make.
        options
            ``dtype`` and ``shape``, for constructors that accept them.

        Returns
        -------
        list of TensorVariable
            As many variables as there are names.

        Raises
        ------
        TypeContractError
            There are neither names nor a single int.

        Examples
        --------
        >>> import phintys.tensor as pt
        >>> [x.name for x in pt.fmatrices("x", "y")]
        ['x', 'y']
        """
        if len(names) == 1 and isinstance(names[0], int) and not isinstance(names[0], bool):
            return [self._one(**options) for _ in range(names[0])]
        if not names or not all(name is None or isinstance(name, str) for name in names):
            msg = f"{self._name} takes names, or one int, how many to make; got {names!r}."
            raise TypeContractError(msg)
        return [self._one(name, **options) for name in names]

    def __repr__(self) -> str:
        return f"<constructor {self._name}>"


scalars = Several(scalar, "scalars")
vectors = Several(vector, "vectors")
matrices = Several(matrix, "matrices")
rows = Several(row, "rows")
cols = Several(col, "cols")
tensor3s = Several(tensor3, "tensor3s")
tensor4s = Several(tensor4, "tensor4s")
tensor5s = Several(tensor5, "tensor5s")
tensor6s = Several(tensor6, "tensor6s")
tensor7s = Several(tensor7, "tensor7s")

bscalar = TensorType("int8", ())
bvector = TensorType("int8", (None,))
bmatrix = TensorType("int8", (None, None))
brow = TensorType("int8", (1, None))
bcol = TensorType("int8", (None, 1))
btensor3 = TensorType("int8", (None,) * 3)
btensor4 = TensorType("int8", (None,) * 4)
btensor5 = TensorType("int8", (None,) * 5)
btensor6 = TensorType("int8", (None,) * 6)
btensor7 = TensorType("int8", (None,) * 7)
bscalars = Several(bscalar, "bscalars")
bvectors = Several(bvector, "bvectors")
bmatrices = Several(bmatrix, "bmatrices")
brows = Several(brow, "brows")
bcols = Several(bcol, "bcols")
btensor3s = Several(btensor3, "btensor3s")
btensor4s = Several(btensor4, "btensor4s")
btensor5s = Several(btensor5, "btensor5s")
btensor6s = Several(btensor6, "btensor6s")
btensor7s = Several(btensor7, "btensor7s")

wscalar = TensorType("int16", ())
wvector = TensorType("int16", (None,))
wmatrix = TensorType("int16", (None, None))
wrow = TensorType("int16", (1, None))
wcol = TensorType("int16", (None, 1))
wtensor3 = TensorType("int16", (None,) * 3)
wtensor4 = TensorType("int16", (None,) * 4)
wtensor5 = TensorType("int16", (None,) * 5)
wtensor6 = TensorType("int16", (None,) * 6)
wtensor7 = TensorType("int16", (None,) * 7)
wscalars = Several(wscalar, "wscalars")
wvectors = Several(wvector, "wvectors")
wmatrices = Several(wmatrix, "wmatrices")
wrows = Several(wrow, "wrows")
wcols = Several(wcol, "wcols")
wtensor3s = Several(wtensor3, "wtensor3s")
wtensor4s = Several(wtensor4, "wtensor4s")
wtensor5s = Several(wtensor5, "wtensor5s")
wtensor6s = Several(wtensor6, "wtensor6s")
wtensor7s = Several(wtensor7, "wtensor7s")

iscalar = TensorType("int32", ())
ivector = TensorType("int32", (None,))
imatrix = TensorType("int32", (None, None))
irow = TensorType("int32", (1, None))
icol = TensorType("int32", (None, 1))
itensor3 = TensorType("int32", (None,) * 3)
itensor4 = TensorType("int32", (None,) * 4)
itensor5 = TensorType("int32", (None,) * 5)
itensor6 = TensorType("int32", (None,) * 6)
itensor7 = TensorType("int32", (None,) * 7)
iscalars = Several(iscalar, "iscalars")
ivectors = Several(ivector, "ivectors")
imatrices = Several(imatrix, "imatrices")
irows = Several(irow, "irows")
icols = Several(icol, "icols")
itensor3s = Several(itensor3, "itensor3s")
itensor4s = Several(itensor4, "itensor4s")
itensor5s = Several(itensor5, "itensor5s")
itensor6s = Several(itensor6, "itensor6s")
itensor7s = Several(itensor7, "itensor7s")

lscalar = TensorType("int64", ())
lvector = TensorType("int64", (None,))
lmatrix = TensorType("int64", (None, None))
lrow = TensorType("int64", (1, None))
lcol = TensorType("int64", (None, 1))
ltensor3 = TensorType("int64", (None,) * 3)
ltensor4 = TensorType("int64", (None,) * 4)
ltensor5 = TensorType("int64", (None,) * 5)
ltensor6 = TensorType("int64", (None,) * 6)
ltensor7 = TensorType("int64", (None,) * 7)
lscalars = Several(lscalar, "lscalars")
lvectors = Several(lvector, "lvectors")
lmatrices = Several(lmatrix, "lmatrices")
lrows = Several(lrow, "lrows")
lcols = Several(lcol, "lcols")
ltensor3s = Several(ltensor3, "ltensor3s")
ltensor4s = Several(ltensor4, "ltensor4s")
ltensor5s = Several(ltensor5, "ltensor5s")
ltensor6s = Several(ltensor6, "ltensor6s")
ltensor7s = Several(ltensor7, "ltensor7s")

fscalar = TensorType("float32", ())
fvector = TensorType("float32", (None,))
fmatrix = TensorType("float32", (None, None))
frow = TensorType("float32", (1, None))
fcol = TensorType("float32", (None, 1))
ftensor3 = TensorType("float32", (None,) * 3)
ftensor4 = TensorType("float32", (None,) * 4)
ftensor5 = TensorType("float32", (None,) * 5)
ftensor6 = TensorType("float32", (None,) * 6)
ftensor7 = TensorType("float32", (None,) * 7)
fscalars = Several(fscalar, "fscalars")
fvectors = Several(fvector, "fvectors")
fmatrices = Several(fmatrix, "fmatrices")
frows = Several(frow, "frows")
fcols = Several(fcol, "fcols")
ftensor3s = Several(ftensor3, "ftensor3s")
ftensor4s = Several(ftensor4, "ftensor4s")
ftensor5s = Several(ftensor5, "ftensor5s")
ftensor6s = Several(ftensor6, "ftensor6s")
ftensor7s = Several(ftensor7, "ftensor7s")

dscalar = TensorType("float64", ())
dvector = TensorType("float64", (None,))
dmatrix = TensorType("float64", (None, None))
drow = TensorType("float64", (1, None))
dcol = TensorType("float64", (None, 1))
dtensor3 = TensorType("float64", (None,) * 3)
dtensor4 = TensorType("float64", (None,) * 4)
dtensor5 = TensorType("float64", (None,) * 5)
dtensor6 = TensorType("float64", (None,) * 6)
dtensor7 = TensorType("float64", (None,) * 7)
dscalars = Several(dscalar, "dscalars")
dvectors = Several(dvector, "dvectors")
dmatrices = Several(dmatrix, "dmatrices")
drows = Several(drow, "drows")
dcols = Several(dcol, "dcols")
dtensor3s = Several(dtensor3, "dtensor3s")
dtensor4s = Several(dtensor4, "dtensor4s")
dtensor5s = Several(dtensor5, "dtensor5s")
dtensor6s = Several(dtensor6, "dtensor6s")
dtensor7s = Several(dtensor7, "dtensor7s")

cscalar = TensorType("complex64", ())
cvector = TensorType("complex64", (None,))
cmatrix = TensorType("complex64", (None, None))
crow = TensorType("complex64", (1, None))
ccol = TensorType("complex64", (None, 1))
ctensor3 = TensorType("complex64", (None,) * 3)
ctensor4 = TensorType("complex64", (None,) * 4)
ctensor5 = TensorType("complex64", (None,) * 5)
ctensor6 = TensorType("complex64", (None,) * 6)
ctensor7 = TensorType("complex64", (None,) * 7)
cscalars = Several(cscalar, "cscalars")
cvectors = Several(cvector, "cvectors")
cmatrices = Several(cmatrix, "cmatrices")
crows = Several(crow, "crows")
ccols = Several(ccol, "ccols")
ctensor3s = Several(ctensor3, "ctensor3s")
ctensor4s = Several(ctensor4, "ctensor4s")
ctensor5s = Several(ctensor5, "ctensor5s")
ctensor6s = Several(ctensor6, "ctensor6s")
ctensor7s = Several(ctensor7, "ctensor7s")

zscalar = TensorType("complex128", ())
zvector = TensorType("complex128", (None,))
zmatrix = TensorType("complex128", (None, None))
zrow = TensorType("complex128", (1, None))
zcol = TensorType("complex128", (None, 1))
ztensor3 = TensorType("complex128", (None,) * 3)
ztensor4 = TensorType("complex128", (None,) * 4)
ztensor5 = TensorType("complex128", (None,) * 5)
ztensor6 = TensorType("complex128", (None,) * 6)
ztensor7 = TensorType("complex128", (None,) * 7)
zscalars = Several(zscalar, "zscalars")
zvectors = Several(zvector, "zvectors")
zmatrices = Several(zmatrix, "zmatrices")
zrows = Several(zrow, "zrows")
zcols = Several(zcol, "zcols")
ztensor3s = Several(ztensor3, "ztensor3s")
ztensor4s = Several(ztensor4, "ztensor4s")
ztensor5s = Several(ztensor5, "ztensor5s")
ztensor6s = Several(ztensor6, "ztensor6s")
ztensor7s = Several(ztensor7, "ztensor7s")

__dir__ = public_dir(__name__)
