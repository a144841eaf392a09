"""A program: random graphs and records of Ops for another CPU than this one.

``python targets.py level part parts`` compiles for a level of x86-64, runs the code and compares
values with the reference. ``python targets.py aarch64 part parts`` only writes the code,
and compiles it where LLVM knows how. It prints how many records and graphs there were. A part is a
number: records are dealt out to so many parts, and each has graphs of its own.
"""

import sys
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from phintys import config
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.runtime.engine import compile_object
from phintys.backends.native.writer.programs import emit_program
from phintys.backends.reference.backend import ReferenceBackend
from phintys.compile import Mode
from phintys.passes import PIPELINES
from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples
from tools import fuzz
from tools.fuzz.modes import Variant

GRAPHS = 96  # of all parts
OTHERS = [name for name in CHECKS if name not in {"reference", "modes"}]
HERE = Path(__file__).parent


class OnlyWrites:
    """A backend that compiles graphs for a CPU, and lets the reference carry them out."""

    name = "only writes"
    count = 0

    def __init__(self, target):
        self.target = target
        self.can_compile = llvm().knows(target.triple)

    def link(self, fgraph, *, profiler=None):
        emitted = emit_program(lower_program(fgraph), self.target)
        self.compile(str(emitted.module))
        OnlyWrites.count += 1
        return ReferenceBackend().link(fgraph, profiler=profiler)

    def compile(self, text):
        if self.can_compile:
            assert compile_object(text, self.target).files[0].startswith(b"\x7fELF")


def records():
    """The records of all families."""
    for path in sorted((HERE.parents[2] / "records").glob("*.py")):
        if not path.stem.startswith(("test_", "conftest")):
            spec = spec_from_file_location(f"records_{path.stem}", path)
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            yield from module.RECORDS


@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def check(record, mode, data):
    check_op(record, [data.draw(examples(record))], modes=[mode], skip=OTHERS)


def main(name, part, parts):
    target = Target.named(name)
    chosen = [record for number, record in enumerate(records()) if number % parts == part]
    graphs = GRAPHS // parts
    seeds = range(part * graphs, (part + 1) * graphs)
    if name == "aarch64":
        mode = Mode(OnlyWrites(target), PIPELINES["full"])
        variant = Variant("writes", mode.backend, "full")
    else:
        config.native_target = name
        mode, variant = "native", Variant(name, target=name)
    for record in chosen:
        check(record, mode)
    for seed in seeds:
        found = fuzz.check(fuzz.draw(seed), [variant])
        assert found is None, str(found)
    sys.stdout.write(f"{len(chosen)} {len(seeds)}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], *map(int, sys.argv[2:]))
