"""Which names are there: looked up in the packages, not in a list of what was said to be done."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import phintys
import phintys.control
import phintys.gradient
import phintys.tensor as pt

__all__ = ["PEERS", "WITHOUT_MEANING", "Name", "by_family", "by_peer", "missing", "read_names"]

NAMES = Path(__file__).with_name("names.tsv")
PEERS = {"numpy": "NumPy", "array-api": "array API", "pytensor": "PyTensor"}

_HOMES: dict[str, tuple[Any, ...]] = {
    "TensorVariable": (pt.dmatrix("x"),),
    "dtype.info": (pt.__array_namespace_info__(),),
    "assumptions": (pt,),
    "dtype": (pt, phintys),
    "gradient": (phintys.gradient, phintys),
    "graph": (phintys.graph, phintys, pt),
    "pt": (pt,),
    "scan": (phintys.control, phintys),
    "control": (phintys.control, phintys),
    "phintys": (phintys,),
}
"""First part of a name in the list -> the modules in which it is looked up."""


_OF_MEMORY = (
    "base byteswap ctypes data dump dumps flags flat getfield put resize setfield setflags strides "
    "tobytes tofile tolist view __dlpack__ __dlpack_device__"
)

WITHOUT_MEANING = {
    "memory, which a graph does not have; an array that a function returns has it": [
        f"TensorVariable.{name}" for name in _OF_MEMORY.split()
    ],
    "a dtype that depends on values": ["real_if_close"],
    "dates, which cannot be elements of tensors": ["isnat"],
    "an iterator over values": ["broadcast"],
}
"""What names are about that mean nothing for symbolic arrays -> those names."""

_MEANINGLESS = {name for names in WITHOUT_MEANING.values() for name in names}


@dataclass(frozen=True)
class Name:
    """One name of another library."""

    family: str
    name: str
    peers: tuple[str, ...]
    importance: int
    """1: in most programs; 2: in some; 3: in few."""

    here: str
    """Another name for it here, if it has one."""

    @property
    def status(self) -> str:
        """Return "present", "other" (under another name), "meaningless" in graphs, "missing"."""
        if _is_there(self.name):
            return "present"
        if self.name.removeprefix("pt.") in _MEANINGLESS:
            return "meaningless"
        return "other" if self.here and (self.here == "None" or _is_there(self.here)) else "missing"


def read_names() -> list[Name]:
    """Return the names of the list, in its order."""
    with NAMES.open(encoding="utf-8", newline="") as file:
        return [
            Name(
                row["family"],
                row["name"],
                tuple(row["peers"].split(",")),
                int(row["importance"]),
                row["here"],
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]


def _is_there(name: str) -> bool:
    for first in ("dtype.info", name.partition(".")[0]):
        rest = name.removeprefix(f"{first}.")
        if rest != name and first in _HOMES:
            return any(_has(home, rest.split(".")) for home in _HOMES[first])
    return any(_has(home, name.split(".")) for home in (phintys, phintys.control, pt))


def _has(thing: Any, path: list[str]) -> bool:
    for part in path:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return False
    return True


def by_family(names: list[Name]) -> dict[str, Counter[str]]:
    """Return how many names of each family are present, other, and missing by importance."""
    return _counted(names, lambda name: [name.family])


def by_peer(names: list[Name]) -> dict[str, Counter[str]]:
    """Return the same for each peer."""
    return _counted(names, lambda name: name.peers)


def _counted(names: list[Name], groups_of: Any) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for name in names:
        status = name.status
        what = f"missing {name.importance}" if status == "missing" else status
        for group in groups_of(name):
            found.setdefault(group, Counter())[what] += 1
    return found


def missing(names: list[Name], importance: int) -> dict[str, list[str]]:
    """Return the missing names of an importance, by family."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name.importance == importance and name.status == "missing":
            found.setdefault(name.family, []).append(name.name)
    return found
