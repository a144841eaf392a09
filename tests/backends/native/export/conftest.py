"""Options of compilers, and counts of what became of the functions that tests export."""

import shutil
import subprocess
from collections import Counter

import pytest

from phintys.backends.native.runtime.blas import WHEEL


@pytest.fixture(scope="session")
def sanitizers(tmp_path_factory):
    """Return the options for AddressSanitizer, none where programs cannot be built with it."""
    option, compiler = "-fsanitize=address,undefined", shutil.which("cc")
    if compiler is None:
        return []
    folder = tmp_path_factory.mktemp("sanitizers")
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }")
    built = subprocess.run([compiler, option, source, "-o", program], check=False)
    works = built.returncode == 0 and subprocess.run([program], check=False).returncode == 0
    return [option] if works else []


@pytest.fixture(scope="session", autouse=True)
def one_thread_of_blas():
    """Let OpenBLAS use one thread: more of them divide products in other parts than in Python."""
    library = WHEEL()
    if library is None:
        yield
        return
    former = library.scipy_openblas_get_num_threads()
    library.scipy_openblas_set_num_threads(1)
    yield
    library.scipy_openblas_set_num_threads(former)


def pytest_terminal_summary(terminalreporter):
    outcomes = Counter(
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "exported"
    )
    if outcomes:
        terminalreporter.section("exported functions")
        for outcome, count in outcomes.most_common():
            terminalreporter.write_line(f"{count:5} {outcome}")
