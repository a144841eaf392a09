"""Gradients need not depend on all inputs of what they are the gradients of."""

import pytest

from phintys._base.config import config


@pytest.fixture(autouse=True)
def _unused_inputs_are_fine():
    with config.change_flags(on_unused_input="ignore"):
        yield
