"""Exported functions beside CasADi's generated code: `python -m benchmarks.exported_beside_casadi`.

CasADi's own examples: a step of Runge-Kutta for Van der Pol's oscillator and for a pendulum on a
cart, and the flight of a rocket in 20 steps; the function, its Jacobian, and the Hessian of a sum.
All are compiled for this machine and called in turn by one program in C, which prints the shortest
time of a call in nanoseconds, and ours divided by CasADi's. The compiler of C joins products and
sums, which saves a rounding and up to half of the operations; `contract=True` allows it in exported
functions as well. Both are compared with it ("contracted") and without ("rounded"). CasADi is in no
environment of the project: `pip install --target`, and PYTHONPATH.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import phintys
import phintys.tensor as pt

STEPS = 20


def van_der_pol(m: Any, v: Any) -> list[Any]:
    """Return the rates of ``x0, x1`` under ``u``."""
    x0, x1, u = v
    return [(1 - x1 * x1) * x0 - x1 + u, x0]


def pendulum(m: Any, v: Any) -> list[Any]:
    """Return the rates of a position, an angle and their speeds under a force."""
    _, theta, dx, dtheta, force = v
    s, c = m.sin(theta), m.cos(theta)
    total = 1.0 + 0.1 - 0.1 * c * c
    return [
        dx,
        dtheta,
        (-0.1 * 0.8 * s * dtheta * dtheta + 0.1 * 9.81 * c * s + force) / total,
        (-0.1 * 0.8 * c * s * dtheta * dtheta + force * c + 1.1 * 9.81 * s) / (0.8 * total),
    ]


def runge_kutta(m: Any, rates: Any, x: list[Any], u: Any, h: float = 0.1) -> list[Any]:
    """Return the state after a step."""

    def at(k: list[Any] | None, by: float) -> list[Any]:
        moved = x if k is None else [a + by * b for a, b in zip(x, k, strict=True)]
        return rates(m, [*moved, u])

    k1 = at(None, 0)
    k2 = at(k1, h / 2)
    k3 = at(k2, h / 2)
    k4 = at(k3, h)
    return [
        a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(x, k1, k2, k3, k4, strict=True)
    ]


def rocket(m: Any, u: list[Any]) -> list[Any]:
    """Return the height, speed and mass after thrusts."""
    s, v, mass = 0.0, 0.0, 1.0
    for thrust in u:
        s = s + 0.1 * v
        v = v + 0.1 * (thrust - 0.05 * v * v) / mass
        mass = mass - 0.1 * 0.1 * thrust * thrust
    return [s, v, mass]


MODELS = {
    "vdp": (3, lambda m, v: runge_kutta(m, van_der_pol, v[:2], v[2])),
    "pendulum": (5, lambda m, v: runge_kutta(m, pendulum, v[:4], v[4])),
    "rocket": (STEPS, rocket),
}

HARNESS = """
#include <stdio.h>
#include <string.h>
#include <time.h>
#define casadi_int long long int
static double now(void) {
  struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec;
}
static double x[64], theirs[4096], ours[4096], w[65536], work[65536];
static casadi_int iw[65536];
static double best[4];
#define OURS const void *const *, const long long *, void *const *, const long long *, \\
             long long *, long long *, void *, void *, long long
#define COMPARE(NAME, SIZE) { \\
  extern int c_##NAME(const double **, double **, casadi_int *, double *, int); \\
  extern int r_##NAME(const double **, double **, casadi_int *, double *, int); \\
  extern int NAME(OURS), NAME##_contracted(OURS); \\
  const double *arg[64] = {x}; double *res[64] = {theirs}; \\
  const void *const args[] = {x}; void *const results[] = {ours}; \\
  best[0] = best[1] = best[2] = best[3] = 1e30; \\
  for (int round = 0; round < 200; round++) { \\
    double times[5] = {now()}; \\
    for (int i = 0; i < 200; i++) c_##NAME(arg, res, iw, w, 0); \\
    times[1] = now(); \\
    for (int i = 0; i < 200; i++) r_##NAME(arg, res, iw, w, 0); \\
    times[2] = now(); \\
    for (int i = 0; i < 200; i++) \\
      NAME(args, 0, results, 0, 0, 0, 0, work, sizeof work); \\
    times[3] = now(); \\
    for (int i = 0; i < 200; i++) \\
      NAME##_contracted(args, 0, results, 0, 0, 0, 0, work, sizeof work); \\
    times[4] = now(); \\
    for (int i = 0; i < 4; i++) \\
      if (times[i + 1] - times[i] < best[i]) best[i] = times[i + 1] - times[i]; \\
  } \\
  double most = 0; \\
  for (int i = 0; i < SIZE; i++) { \\
    double d = ours[i] - theirs[i]; if (d < 0) d = -d; if (d > most) most = d; \\
  } \\
  printf("%-18s %8.1f %8.1f %6.2f   %8.1f %8.1f %6.2f   %8.1e\\n", #NAME, best[0] / 200, \\
         best[3] / 200, best[3] / best[0], best[1] / 200, best[2] / 200, best[2] / best[1], most); }
int main(void) {
  for (int i = 0; i < 64; i++) x[i] = 0.3 + 0.01 * i;
  printf("%-18s %24s   %24s\\n", "", "contracted", "rounded");
  printf("%-18s %8s %8s %6s   %8s %8s %6s   %8s\\n", "ns", "CasADi", "ours", "ratio", "CasADi",
         "ours", "ratio", "error");
"""


def main() -> None:
    """Write, compile and run the program."""
    import casadi as ca  # pyright: ignore[reportMissingImports]

    folder = Path(tempfile.mkdtemp())
    generators = {
        prefix: ca.CodeGenerator(f"{prefix}.c", {"with_header": False}) for prefix in ("c", "r")
    }
    lines: list[str] = []
    objects: list[str] = []
    for name, (length, build) in MODELS.items():
        v = ca.SX.sym("v", length)
        made = ca.vertcat(*build(ca, [v[i] for i in range(length)]))
        # Matrices are made dense and row-major, as ours are.
        theirs = {
            name: made,
            f"{name}_jacobian": ca.densify(ca.jacobian(made, v)).T,
            f"{name}_hessian": ca.densify(ca.hessian(ca.sum1(made), v)[0]),
        }
        x = pt.tensor("x", dtype="float64", shape=(length,))
        y = pt.stack(build(pt, [x[i] for i in range(length)]))
        ours = {
            name: y,
            f"{name}_jacobian": phintys.jacobian(y, x),
            f"{name}_hessian": phintys.hessian(y.sum(), x),
        }
        for kind, expression in theirs.items():
            for prefix, generator in generators.items():
                generator.add(ca.Function(f"{prefix}_{kind}", [v], [expression]))
            f = phintys.function([x], ours[kind], name=kind)
            objects.append(str(f.export(folder)[0]))
            contracted = f.export(folder, name=f"{kind}_contracted", contract=True)
            objects.append(str(contracted[0]))
            size = int(np.prod(f(np.full(length, 0.3)).shape))
            lines.append(f"COMPARE({kind}, {size})")
    for generator in generators.values():
        generator.generate(f"{folder}/")
    (folder / "harness.c").write_text(HARNESS + "\n".join(lines) + "\nreturn 0; }\n")
    compiler = ["cc", "-O3", "-march=native", "-w", "-c"]
    for name, options in (("harness", []), ("c", []), ("r", ["-ffp-contract=off"])):
        objects.append(str(folder / f"{name}.o"))
        command = [*compiler, *options, str(folder / f"{name}.c"), "-o", objects[-1]]
        subprocess.run(command, check=True)
    program = folder / "program"
    subprocess.run(["cc", *objects, "-lm", "-o", str(program)], check=True)
    subprocess.run([str(program)], check=True, stdout=sys.stdout)


if __name__ == "__main__":
    main()
