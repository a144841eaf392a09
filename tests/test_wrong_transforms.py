"""Common mistakes with sums of products and with Fourier transforms, and what the errors say."""

import pytest

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from tests.test_wrong_inputs import Case, check

CASES = {
    "an axis of the result that no operand has": Case(
        'pt.einsum("ij,jk->il", pt.matrix("x"), pt.matrix("y"))',
        ArgumentError,
        ["'l'", '"ij,jk->il"', "an axis of an operand"],
    ),
    "an axis twice in the result": Case(
        'pt.einsum("i->ii", pt.vector("x"))', ArgumentError, ["'i' is twice", "diagonal"]
    ),
    "another number of operands": Case(
        'pt.einsum("ij,jk", pt.matrix("x"))', ArgumentError, ["2 operands, got 1", "comma"]
    ),
    "another rank than that of the term": Case(
        'pt.einsum("ijk->k", pt.matrix("x"))', ShapeError, ['"ijk"', "3 axes", "x", "Matrix"]
    ),
    "a digit as an axis": Case(
        'pt.einsum("i1", pt.matrix("x"))', ArgumentError, ["'1'", "letter", "ij,jk->ik"]
    ),
    "axes of one name, of two sizes": Case(
        'pt.einsum("ij,jk", pt.tensor("x", shape=(2, 3)), pt.tensor("y", shape=(4, 5)))',
        ShapeError,
        ["'j'", "x, shape (2, 3)", "y, shape (4, 5)", "different names"],
    ),
    "axes of one name, of two sizes at run time": Case(
        """
        x, y = pt.dmatrices("x", "y")
        f = phintys.function(
            [x, y],
            pt.einsum("ij,jk", x, y),
        )
        f([[1.0, 2.0]], [[1.0]])
        """,
        ShapeError,
        ["x", "y", "(1, 2)", "(1, 1)", "line 4"],
    ),
    "a diagonal of a matrix that is not square": Case(
        """
        x = pt.dmatrix("x")
        f = phintys.function([x], pt.einsum("ii", x))
        f([[1.0, 2.0]])
        """,
        ShapeError,
        ["x", "(1, 2)", "line 2"],
    ),
    "an ellipsis that vanishes": Case(
        'pt.einsum("...i->i", pt.matrix("x"))', ArgumentError, ["ellipsis", '"...i"']
    ),
    "a cross product of two elements": Case(
        'pt.cross(pt.tensor("v", shape=(2,)), pt.vector("w"))', ShapeError, ["3", "2", "v"]
    ),
    "a cross product of four elements, at run time": Case(
        """
        v, w = pt.dvectors("v", "w")
        f = phintys.function([v, w], pt.cross(v, w))
        f([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0])
        """,
        ShapeError,
        ["w", "size 3", "(4,)", "line 2"],
    ),
    "a Toeplitz matrix of a matrix": Case(
        'pt.linalg.toeplitz(pt.matrix("x"))', ShapeError, ["vectors", "x", "Matrix", "flatten()"]
    ),
    "blocks in a list": Case(
        'pt.linalg.block_diag([pt.matrix("x"), pt.matrix("y")])',
        ArgumentError,
        ["not a list", "block_diag(*matrices)"],
    ),
    "a tensor that is not square": Case(
        'pt.linalg.tensorinv(pt.tensor("a", shape=(2, 3, 4)), ind=1)',
        ShapeError,
        ["a", "(2, 3, 4)", "rows (2)", "columns (12)"],
    ),
    "an unknown norm of a transform": Case(
        'pt.fft.fft(pt.vector("x"), norm="unitary")', ArgumentError, ["'ortho'", "'unitary'"]
    ),
    "an axis of a transform that is not there": Case(
        'pt.fft.rfft(pt.vector("x"), axis=1)', ShapeError, ["1", "-1 to 0"]
    ),
    "no points": Case('pt.fft.fft(pt.vector("x"), n=0)', ShapeError, ["at least 1", "0"]),
    "a real transform of complex numbers": Case(
        'pt.fft.rfft(pt.zvector("z"))', DtypeError, ["z", "complex128", "pt.fft.fft"]
    ),
    "an empty signal": Case(
        """
        x = pt.dvector("x")
        f = phintys.function([x], pt.fft.fft(x))
        f([])
        """,
        ShapeError,
        ["x", "(0,)", "no points", "n=", "line 2"],
    ),
    "one element of half a spectrum": Case(
        """
        z = pt.zvector("z")
        f = phintys.function([z], pt.fft.irfft(z))
        f([1.0])
        """,
        ShapeError,
        ["at least 1", "line 2"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_explained(name):
    check(CASES[name])
