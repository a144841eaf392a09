"""Guesses at what a wrong name was meant to be."""

from phintys._base.names import near_misses


def test_the_best_guess_comes_first():
    known = ["reference", "native", "references"]
    assert near_misses("reference_", known, 2) == ["reference", "references"]
    assert near_misses("refrence", iter(known)) == ["reference"]


def test_what_looks_like_nothing_known_has_no_guess():
    assert near_misses("xyz", ["native"]) == []
