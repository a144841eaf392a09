"""The CPU for which code is generated."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from typing import Any

from phintys._base.config import config
from phintys._base.errors import ConfigError
from phintys.backends.native.emit.types import Type

__all__ = ["Target", "llvm"]

_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl")

# name: (architecture, bytes of a vector register, fma, float16 conversions, AVX-512)
_LEVELS = {
    "x86-64-v2": ("x86_64", 16, False, False, False),
    "x86-64-v3": ("x86_64", 32, True, True, False),
    "x86-64-v4": ("x86_64", 64, True, True, True),
    "aarch64": ("aarch64", 16, True, True, False),
}
_FMA_ALWAYS = {"aarch64", "arm64", "ppc64le", "s390x"}


@cache
def llvm() -> Any:
    """Return llvmlite's binding, ready to generate code for this machine."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@dataclass(frozen=True, slots=True)
class Target:
    """What code generation must know about a CPU.

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
        Whether the AVX-512 instructions F, DQ, BW and VL are there.

    Examples
    --------
    >>> from phintys.backends.native.emit.types import FLOAT64
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

    @staticmethod
    @cache
    def host() -> Target:
        """Return the CPU that this process runs on."""
        binding = llvm()
        features = binding.get_host_cpu_features()
        machine = platform.machine().lower()
        avx512 = all(features.get(name, False) for name in _AVX512)
        wide = 64 if avx512 else 32 if features.get("avx2", False) else 16
        return Target(
            name="host",
            triple=binding.get_process_triple(),
            cpu=binding.get_host_cpu_name(),
            features=features.flatten(),
            vector_bytes=wide,
            has_fma=machine in _FMA_ALWAYS or bool(features.get("fma", False)),
            has_float16=machine in {"aarch64", "arm64"} or bool(features.get("f16c", False)),
            has_avx512=avx512,
        )

    @staticmethod
    @cache
    def named(name: str) -> Target:
        """Return ``"host"``, a level of x86-64, or ``"aarch64"``.

        Raises
        ------
        ConfigError
            There is no such target.
        """
        if name == "host":
            return Target.host()
        if name not in _LEVELS:
            msg = f"A target is 'host' or one of {tuple(_LEVELS)}; got {name!r}."
            raise ConfigError(msg)
        architecture, wide, fma, float16, avx512 = _LEVELS[name]
        process = llvm().get_process_triple()
        here = process.startswith((architecture, "arm64" if architecture == "aarch64" else "amd64"))
        return Target(
            name=name,
            # Of another architecture only text and objects are wanted; Linux is as good as any.
            triple=process if here else f"{architecture}-unknown-linux-gnu",
            cpu=name if architecture == "x86_64" else "generic",
            features="",
            vector_bytes=wide,
            has_fma=fma,
            has_float16=float16,
            has_avx512=avx512,
        )

    @staticmethod
    def configured() -> Target:
        """Return the target that ``config.native_target`` names."""
        return Target.named(config.native_target)

    def lanes(self, type: Type) -> int:
        """Return how many elements of a type fill a vector register, of a complex type's parts."""
        return self.vector_bytes // type.part.itemsize

    @property
    def attributes(self) -> str:
        """Attributes of every function.

        Some CPUs with AVX-512 are tuned for half its width; what is written for the whole width
        must then say that it is meant.
        """
        bits = 8 * self.vector_bytes
        return (
            f'nounwind "min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"'
            if self.triple.startswith(("x86_64", "amd64"))
            else "nounwind"
        )

    def machine(self, level: int = 1) -> Any:
        """Return LLVM's code generator for this target.

        Parameters
        ----------
        level
            How hard it tries, 0 to 3: 0 is three times as fast as 1 and its code 10 % slower.
        """
        binding = llvm()
        if not self.triple.startswith(binding.get_process_triple().partition("-")[0]):
            binding.initialize_all_targets()
            binding.initialize_all_asmprinters()
        return binding.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=level, jit=True
        )
