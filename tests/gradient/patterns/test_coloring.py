"""Colourings: no two columns of a colour meet, and every element of a symmetric matrix is alone."""

import numpy as np
import pytest
import scipy.sparse

from phintys.gradient.patterns.coloring import colors_of_columns, number_of_colors, star_colors


def random_matrix(rng, rows, columns):
    return rng.random((rows, columns)) < rng.random()


def test_no_row_has_two_columns_of_a_colour():
    rng = np.random.default_rng(0)
    for _ in range(100):
        dense = random_matrix(rng, *rng.integers(0, 12, 2))
        colors = colors_of_columns(scipy.sparse.csr_array(dense))
        for row in dense:
            assert len(set(colors[row])) == row.sum()


def test_each_element_of_a_symmetric_matrix_is_alone_in_one_of_two_places():
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = rng.integers(0, 14)
        dense = random_matrix(rng, n, n)
        dense |= dense.T
        colors = star_colors(scipy.sparse.csr_array(dense))
        for i, j in np.argwhere(dense):
            same_as_j = np.sum(colors[dense[i]] == colors[j])
            same_as_i = np.sum(colors[dense[j]] == colors[i])
            assert same_as_j == 1 or same_as_i == 1, (i, j)
            assert (colors[i] == colors[j]) == (i == j) or not dense[i, j]


def stencil(n):
    line = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(one, line) + scipy.sparse.kron(line, one))


def arrow(n, last):
    dense = np.eye(n, dtype=bool)
    at = n - 1 if last else 0
    dense[at] = dense[:, at] = True
    return scipy.sparse.csr_array(dense)


@pytest.mark.parametrize("last", [False, True])
def test_an_arrow_needs_two_colours(last):
    assert number_of_colors(star_colors(arrow(50, last))) == 2


def test_a_grid_needs_few_colours():
    grid = stencil(20)
    assert number_of_colors(star_colors(grid)) <= 6
    assert number_of_colors(colors_of_columns(grid)) <= 8


def test_a_diagonal_needs_one_colour():
    diagonal = scipy.sparse.csr_array(np.eye(5, dtype=bool))
    assert number_of_colors(colors_of_columns(diagonal)) == 1
    assert number_of_colors(star_colors(diagonal)) == 1
