"""Which of PyTensor's own rewrites pay, where its graphs are compiled by Phintys.

``python benchmarks/bridge_rewrites.py [NAME ...]`` compiles the log-density and gradient of models
of ``pymc_models.py`` with the mode ``"PHINTYS"``, once with what the mode includes, and once with
each group of rewrites added. It prints the time of the processor until the first value, that of
PyTensor and Phintys together, and the time of a call. Nothing is read from caches. Needs PyMC.
"""
# PyMC need not be installed.
# pyright: reportMissingImports=false

import argparse
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

_GROUPS = {
    "what the mode includes": (),
    "merge": ("merge",),
    "ShapeOpt": ("ShapeOpt",),
    "canonicalize": ("canonicalize",),
    "canonicalize, stabilize": ("canonicalize", "stabilize"),
    "canonicalize, stabilize, specialize": ("canonicalize", "stabilize", "specialize"),
    "fast_run": ("fast_run",),
}
_MODELS = ("eight_schools", "radon", "mixture", "lkj_covariance", "censored_and_others")


def measure(name, rounds=3):
    """Print a row for each group of rewrites: best times of a model."""
    import phintys
    from phintys.bridge.pytensor import PHINTYS

    sys.path.insert(0, str(Path(__file__).parent))
    from pymc_models import at, best_call, made

    warnings.simplefilter("ignore")
    model = made(name)
    _, x = at(model, model.initial_point())
    number = phintys.tensor.dscalar()
    phintys.function([number], number + 1)(1.0)  # imports the backend
    for group, names in _GROUPS.items():
        mode = PHINTYS.including(*names)
        firsts, calls = [], []
        for _ in range(rounds):
            begin = time.process_time()
            function = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
            function.set_extra_values({})
            f = function._pytensor_function
            f(x)
            firsts.append(time.process_time() - begin)
            f.trust_input = True
            calls.append(best_call(lambda f=f: f(x), 0.3))
        print(f"| {name} | {group} | {min(firsts):.2f} s | {min(calls) * 1e6:.1f} us |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.names[0])
        return
    print("| model | PyTensor's rewrites | first value | call |\n|---|---|--:|--:|", flush=True)
    environment = os.environ | {"PHINTYS_FLAGS": "object_cache=False"}
    for name in options.names or _MODELS:
        command = [sys.executable, __file__, name, "--measure"]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
