"""How sparse expressions are written."""

from __future__ import annotations

import pytest

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.graph.latex import latex

A, B, C = sparse.csr_matrix("A"), sparse.csr_matrix("B"), sparse.csc_matrix("C")
v, w, X = pt.dvector("v"), pt.dvector("w"), pt.dmatrix("X")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A @ v, "A @ v"),
        (A.T @ v, "A.T @ v"),
        (C @ v, "C @ v"),
        (C.T @ X, "C.T @ X"),
        (X @ A, "(A.T @ X.T).T"),
        (A @ (v + w), "A @ (v + w)"),
        (A @ (C @ v), "A @ (C @ v)"),
        ((A.T @ v) * w, "A.T @ v * w"),
        (w * (A.T @ v), "w * (A.T @ v)"),
        (A.T, "A.T"),
        (A.T.T, "A.T.T"),
        (A * 2.0, "CSR(A.data * 2.0, A.indices, A.indptr, A.shape)"),
        ((A * 2.0).T, "CSR(A.data * 2.0, A.indices, A.indptr, A.shape).T"),
        ((C * 2.0) * 3.0, "CSC(C.data * 2.0 * 3.0, C.indices, C.indptr, C.shape)"),
        (sparse.csm_data(A) + sparse.csm_data(C), "A.data + C.data"),
        (sparse.csm_shape(A)[0], "A.shape[0]"),
    ],
)
def test_text(expression, text):
    assert phintys.pprint(expression) == text


data, indices, indptr, shape = sparse.csm_properties(A)
other_indptr, other_shape = sparse.csm_properties(B)[2:]


@pytest.mark.parametrize(
    "matrix",
    [
        sparse.CSC(data, indices, other_indptr, shape[::-1]),
        sparse.CSC(data * 2.0, indices, indptr, shape[::-1]),
        sparse.CSC(data, indices, indptr, shape),
        sparse.CSC(data, indices, indptr, other_shape[::-1]),
        sparse.CSR(data, indices, indptr, shape[::-1]),
    ],
)
def test_matrices_that_are_no_transposes_of_others(matrix):
    assert ".T" not in phintys.pprint(matrix)
    assert ".T" not in phintys.pprint(matrix @ v)


def test_functions_are_written_as_the_user_wrote_them():
    f = phintys.function([A, v], A.T @ v)
    assert phintys.pprint(f.maker.fgraph.outputs[0]) == "A.T @ v"


def test_latex_has_a_superscript():
    assert latex(A.T @ v) == r"{A}^{\mathsf{T}} @ v"
    assert latex(A @ v) == "A @ v"
