"""The modes in which eager arrays are computed."""

import pytest


@pytest.fixture(params=["reference", pytest.param("native", marks=pytest.mark.stress)])
def mode(request):
    return request.param
