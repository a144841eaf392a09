"""The CPU for which code is generated."""

from __future__ import annotations

from functools import cache

from phintys._base.config import config
from phintys._base.errors import ConfigError
from phintys._base.records import record
from phintys.backends.native.assembler.llvm_library import TargetMachine, llvm
from phintys.backends.native.assembler.types import MachineType

_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl")

# name: (architecture, bytes of a vector register, fma, float16 conversions, AVX-512)
_LEVELS = {
    "x86-64": ("x86_64", 16, False, False, False),
    "x86-64-v2": ("x86_64", 16, False, False, False),
    "x86-64-v3": ("x86_64", 32, True, True, False),
    "x86-64-v4": ("x86_64", 64, True, True, True),
    "aarch64": ("aarch64", 16, True, True, False),
    "aarch64-macos": ("aarch64", 16, True, True, False),
    "wasm32": ("wasm32", 16, False, False, False),
    "one-lane": ("", 8, False, False, False),
}
_TRIPLES = {"aarch64-macos": "arm64-apple-macosx11.0.0", "wasm32": "wasm32-unknown-unknown"}
_CPUS = {"aarch64-macos": "apple-m1"}
_FEATURES = {"wasm32": "+simd128,+bulk-memory"}
_ARM = ("aarch64", "arm64")
_FMA_ALWAYS = (*_ARM, "powerpc64le", "s390x")


@record(frozen=True)
class Target:
    """The properties of a CPU that code generation depends on.

    Attributes
    ----------
    name
        ``"host"``, or one of the names that :meth:`named` takes.
    triple, cpu, features
        As LLVM names them.
    vector_bytes
        Width of the vectors that code is written for.
    has_fma
        Whether a fused multiply-add is one instruction; otherwise LLVM would call a slow function.
    has_float16
        Whether float16 and float32 are converted by one instruction.
    has_avx512
        Whether the AVX-512 instructions F, DQ, BW and VL are available.
    contracts
        Whether a product of a graph and a sum with it may be a fused multiply-add.

    Examples
    --------
    >>> from phintys.backends.native.assembler.types import FLOAT64
    >>> target = Target.named("x86-64-v3")
    >>> target.vector_bytes, target.has_fma, target.lanes(FLOAT64)
    (32, True, 4)
    """

    name: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    has_fma: bool
    has_float16: bool
    has_avx512: bool
    contracts: bool = False

    @staticmethod
    @cache
    def host() -> Target:
        """Return the CPU that this process runs on."""
        found = llvm()
        features = set(found.features.split(","))
        avx512 = all(f"+{name}" in features for name in _AVX512)
        wide = 64 if avx512 else 32 if "+avx2" in features else 16
        return Target(
            name="host",
            triple=found.triple,
            cpu=found.cpu,
            features=found.features,
            vector_bytes=wide,
            has_fma=found.triple.startswith(_FMA_ALWAYS) or "+fma" in features,
            has_float16=found.triple.startswith(_ARM) or "+f16c" in features,
            has_avx512=avx512,
        )

    @staticmethod
    @cache
    def named(name: str) -> Target:
        """Return the target of a name.

        Parameters
        ----------
        name
            ``"host"``; a level of x86-64; ``"aarch64"`` or ``"aarch64-macos"``; ``"wasm32"``, with
            vectors of 16 bytes; or ``"one-lane"``: plain code for any CPU of the architecture of
            this machine, without vectors of float64.

        Raises
        ------
        ConfigError
            If there is no such target.
        """
        if name == "host":
            return Target.host()
        if name not in _LEVELS:
            msg = f"A target is 'host' or one of {tuple(_LEVELS)}; got {name!r}."
            raise ConfigError(msg)
        architecture, wide, fma, float16, avx512 = _LEVELS[name]
        process = llvm().triple
        architecture = architecture or process.partition("-")[0]
        here = process.startswith((architecture, "arm64" if architecture == "aarch64" else "amd64"))
        return Target(
            name=name,
            # For another architecture only text and objects are needed; Linux is as good as any.
            triple=_TRIPLES.get(name, process if here else f"{architecture}-unknown-linux-gnu"),
            cpu=name if name.startswith("x86-64") else _CPUS.get(name, "generic"),
            features=_FEATURES.get(name, ""),
            vector_bytes=wide,
            has_fma=fma,
            has_float16=float16,
            has_avx512=avx512,
        )

    @staticmethod
    def configured() -> Target:
        """Return the target that ``config.native_target`` names."""
        return Target.named(config.native_target)

    def lanes(self, type: MachineType) -> int:
        """Return how many elements of a type fill a vector register, of a complex type's parts."""
        return self.vector_bytes // type.part.itemsize

    @property
    def convention(self) -> str:
        """The calling convention of outlined vector math.

        LLVM's convention for OpenCL preserves half of the 32 vector registers, so that values of a
        loop stay in registers; C's preserves none.
        """
        return "intel_ocl_bicc" if self.has_avx512 else ""

    @property
    def attributes(self) -> str:
        """Attributes of every function.

        Some CPUs with AVX-512 are tuned for half its width; code for the full width must then
        request it.
        """
        bits = 8 * self.vector_bytes
        return (
            f'nounwind "min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"'
            if self.triple.startswith(("x86_64", "amd64"))
            else "nounwind"
        )

    @property
    def pointer_bytes(self) -> int:
        """Bytes of an address."""
        return 4 if self.triple.startswith("wasm32") else 8

    def machine(self, level: int = 1, *, for_linkers: bool = False) -> TargetMachine:
        """Return a code generator of LLVM for this target.

        Parameters
        ----------
        level
            LLVM's optimization level, 0 to 3: 0 takes a fifth of the time of 1. Most of its code is
            a tenth slower, long reductions are several times slower.
        for_linkers
            Whether its objects are for linkers instead of for this process.
        """
        found = llvm()
        if not self.triple.startswith(found.triple.partition("-")[0]):
            found.initialize_all_targets()
        return found.machine(self.triple, self.cpu, self.features, level, for_linkers=for_linkers)
