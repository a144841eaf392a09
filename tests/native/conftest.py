"""A small library in C, compiled once."""

import shutil
import subprocess

import pytest

SOURCE = """
#include <stdint.h>
#include <math.h>

double half_square(double x) { return x * x / 2; }
float half_square_float(float x) { return x * x / 2; }
int64_t twice(int64_t x) { return 2 * x; }
double hypotenuse(double x, double y) { return sqrt(x * x + y * y); }
double identity(double x) { return x; }

int scale(const double *x, const double *a, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < 0) return -7;
        y[i] = a[0] * x[i];
    }
    return 0;
}

void matvec(const double *a, const double *x, double *y, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < n; j++) y[i] += a[i * n + j] * x[j];
    }
}

void ends(const float *x, const int32_t *k, float *y, int64_t *where, int64_t n) {
    y[0] = x[0] + k[0];
    y[1] = x[n - 1];
    *where = n - 1;
}
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Return the path of the library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("native")
    source, path = folder / "own.c", folder / "libown.so"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", path, "-lm"], check=True)
    return str(path)
