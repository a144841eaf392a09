"""Random expressions of sparse matrices."""

from tools.fuzz import check_seed, draw
from tools.fuzz.kinds import SPARSE


def test_graphs_have_sparse_matrices():
    texts = [step.text for seed in range(100) for step in draw(seed, SPARSE).steps]
    assert sum("sparse." in text for text in texts) >= 40
    assert any("gradient." in text for text in texts)


def test_some_graphs_agree_in_all_modes():
    assert [check_seed(seed, SPARSE, 4) for seed in range(6)] == [None] * 6
