"""Random expressions of linear algebra."""

from tools.fuzz import check_seed, draw
from tools.fuzz.kinds import MATRICES


def test_graphs_have_decompositions():
    texts = [step.text for seed in range(200) for step in draw(seed, MATRICES).steps]
    assert sum("pt.linalg" in text for text in texts) >= 80


def test_some_graphs_agree_in_all_modes():
    assert [check_seed(seed, MATRICES, 6) for seed in range(3)] == [None] * 3
