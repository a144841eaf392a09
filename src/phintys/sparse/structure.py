"""Checks that the arrays of SciPy's matrices fit together.

SciPy checks them when it makes a matrix, and trusts them from then on: a matrix whose arrays were
changed is read, and written, out of bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import ShapeError


def check_pointers(matrix: Any) -> None:
    """Raise unless the pointers of a matrix in csr, csc or bsr lead to its entries.

    Parameters
    ----------
    matrix
        The matrix. Its indices are not looked at.

    Raises
    ------
    ShapeError
        They do not.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys.sparse.structure import check_pointers
    >>> matrix = scipy.sparse.eye_array(3, format="csr")
    >>> check_pointers(matrix)
    >>> matrix.indptr[1] = 7
    >>> check_pointers(matrix)
    Traceback (most recent call last):
    phintys._base.errors.ShapeError: The arrays of a csr matrix must fit together: indptr must ...
    """
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    _check_integers(matrix, "indptr", indptr)
    _check_integers(matrix, "indices", indices)
    if len(data) != len(indices):
        raise _misfit(matrix, f"there are {len(data)} elements and {len(indices)} indices")
    sizes = _blocks(matrix)
    rows = sizes[1] if matrix.format == "csc" else sizes[0]
    if len(indptr) != rows + 1:
        raise _misfit(matrix, f"indptr must have the length {rows + 1}, got {len(indptr)}")
    if indptr[0] != 0 or indptr[-1] > len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise _misfit(matrix, f"indptr must go up from 0 to the number of entries, {len(indices)}")


def check_structure(matrix: Any) -> None:
    """Raise unless all arrays of a matrix fit together, whichever format it has.

    Raises
    ------
    ShapeError
        They do not.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys.sparse.structure import check_structure
    >>> matrix = scipy.sparse.eye_array(3, format="coo")
    >>> matrix.coords[0][0] = 3
    >>> check_structure(matrix)
    Traceback (most recent call last):
    phintys._base.errors.ShapeError: The arrays of a coo matrix must fit together: rows must be ...
    """
    if matrix.format in {"csr", "csc", "bsr"}:
        check_pointers(matrix)
        sizes = _blocks(matrix)
        _check_range(matrix, "indices", matrix.indices, sizes[matrix.format != "csc"])
    elif matrix.format == "coo":
        for name, places, size in zip(
            ("rows", "columns"), matrix.coords, matrix.shape, strict=True
        ):
            _check_integers(matrix, name, places)
            if len(places) != len(matrix.data):
                raise _misfit(
                    matrix, f"there are {len(matrix.data)} elements and {len(places)} {name}"
                )
            _check_range(matrix, name, places, size)
    elif matrix.format == "lil":
        _check_lists(matrix)
    elif matrix.format == "dia" and matrix.data.shape[:1] != matrix.offsets.shape:
        raise _misfit(
            matrix, f"there are {len(matrix.data)} diagonals and {len(matrix.offsets)} offsets"
        )


def _blocks(matrix: Any) -> tuple[int, ...]:
    """Return the sizes of a matrix, in blocks."""
    if matrix.format != "bsr":
        return matrix.shape
    return tuple(size // side for size, side in zip(matrix.shape, matrix.blocksize, strict=True))


def _check_lists(matrix: Any) -> None:
    rows, data = matrix.rows, matrix.data
    if not len(rows) == len(data) == matrix.shape[0]:
        raise _misfit(
            matrix, f"there must be {matrix.shape[0]} rows, got {len(rows)} and {len(data)}"
        )
    for row, (columns, elements) in enumerate(zip(rows, data, strict=True)):
        if len(columns) != len(elements):
            raise _misfit(
                matrix, f"row {row} has {len(elements)} elements and {len(columns)} columns"
            )
        _check_range(matrix, "columns", columns, matrix.shape[1])


def _check_integers(matrix: Any, name: str, array: Any) -> None:
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        raise _misfit(matrix, f"{name} must be a vector of integers")


def _check_range(matrix: Any, name: str, places: Any, size: int) -> None:
    if len(places) and not 0 <= np.min(places) <= np.max(places) < size:
        raise _misfit(matrix, f"{name} must be between 0 and {size - 1}")


def _misfit(matrix: Any, reason: str) -> ShapeError:
    return ShapeError(
        f"The arrays of a {matrix.format} matrix must fit together: {reason}. Make the matrix anew "
        "of its arrays, as SciPy checks them then."
    )
