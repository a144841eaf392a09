"""The old packages, installed for one test."""

from __future__ import annotations

import pytest

from phintys.compat import install, uninstall


@pytest.fixture
def theano():
    install("theano")
    import theano

    yield theano
    uninstall("theano")


@pytest.fixture
def aesara():
    install("aesara")
    import aesara

    yield aesara
    uninstall("aesara")


@pytest.fixture
def pytensor():
    install("pytensor")
    import pytensor

    yield pytensor
    uninstall("pytensor")
