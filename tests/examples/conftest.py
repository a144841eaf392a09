import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example(request):
    """The program under test, which the module names: ``NAME = "digits"``."""
    for extra in ("tqdm", "matplotlib"):
        pytest.importorskip(extra, reason="needs the extra 'examples'")
    name = request.module.NAME
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]
