"""The architecture, as rules that a program can check.

A module imports only from its own room or from rooms before it in ``ROOMS``; there are no import
cycles, and none of imports for types other than those in ``MUTUAL``; imports stand at the top of a
module, late ones too; what is private to a room stays there; files stay small; and no file mentions
a path of somebody's machine.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tools.imports import Import, Module, late_targets, read_modules, walk
from tools.index import index_of, index_path, top_statements

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = "phintys"

# From the ground up. A room may use those before it.
ROOMS = (
    "_base",
    "graph",
    "rewriting",
    "scalar",
    "tensor",
    "tree",
    "gradient",
    "control",
    "sparse",
    "random",
    "native",
    "passes",
    "backends",
    "backends.reference",
    "backends.native.limits",
    "backends.native.assembler",
    "backends.native",
    "compile",
    "backends.jax",
    "optimize",
    "parallel",
    "inspect",
    "testing",
    "contrib",
    "compat",
    "bridge",
    "commands",
    "",  # the façade: phintys/__init__.py, phintys/__main__.py
)

LATE = f"{PACKAGE}._base.late"

NAMED_AS_ELSEWHERE = {f"{PACKAGE}.testing.eager.array"}
"""Modules with a class that has the name of a standard's: ``Array`` of the array API."""

# What may be imported inside a function: packages that are optional, slow to import, or not there
# on every platform.
MAY_BE_LATE = {
    "IPython",
    "_cffi_backend",
    "cloudpickle",
    "distributed",
    "fissix",
    "hypothesis",
    "jax",
    "joblib",
    "llvmlite",
    "matplotlib",
    "nutpie",
    "pandas",
    "platformdirs",
    "pwd",
    "pydot",
    "pytensor",
    "scipy",
    "tqdm",
}

# Imports for types alone that close a circle, each because its modules are one concept.
MUTUAL = (
    # Nodes, variables, types, Ops and graphs are made of each other.
    (
        "graph.apply graph.op graph.variable",
        "graph.apply graph.fgraph graph.op graph.type graph.variable",
    ),
    # What variables and nodes are walked, pickled and moved with.
    ("graph.order graph.pickling graph.transfer", "graph.apply graph.variable"),
    # What a graph is observed, checked and run with.
    ("graph.compiler graph.features graph.inner graph.verify", "graph.fgraph"),
    # A type makes its variables, which have it as their type.
    ("graph.shared_variable", "graph.type"),
    ("scalar.variable", "scalar.type"),
    ("tensor.type", "tensor.variable"),
    # Elementwise Ops document themselves.
    ("tensor.documentation", "tensor.elemwise"),
    # The operators of values write code.
    ("backends.native.assembler.values", "backends.native.assembler.builder"),
    # A part of one class that has a file of its own.
    (
        "backends.native.lower.overwriting",
        "backends.native.lower.lowering",
    ),
)

# Modules with ``__all__`` that are not packages, nor of compat, and define no ``__dir__``: those
# whose names compat shows, and those that offer names of others.
OFFERING = {
    f"{PACKAGE}.graph.alias_map",
    f"{PACKAGE}.graph.aliasing",
    f"{PACKAGE}.graph.null_type",
    f"{PACKAGE}.graph.printing",
    f"{PACKAGE}.tensor.math",
    f"{PACKAGE}.tensor.shared_variable",
}

MOST_LINES = 1000

# A path that only one machine has; not the middle of a URL or of a relative path.
MACHINE_PATH = re.compile(r"(?<![\w.~*})\]/-])/(?:work|root|home|Users)/")
TOOL_FOLDERS = {"__pycache__", "build", "dist", "node_modules"}


@dataclass(frozen=True)
class Violation:
    path: Path
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


def is_ours(name):
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def is_mutual(source, target):
    """Return whether a module may refer to the types of another that imports it."""
    source, target = (name.removeprefix(f"{PACKAGE}.") for name in (source, target))
    return any(
        is_among(source, sources) and is_among(target, targets) for sources, targets in MUTUAL
    )


def is_among(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def room_of(name):
    """Return the room of a module, ``None`` where it belongs to none."""
    inside = name.removeprefix(PACKAGE).removeprefix(".")
    if inside in {"", "__main__"}:
        return ""
    rooms = [room for room in ROOMS if room and f"{inside}.".startswith(f"{room}.")]
    return max(rooms, key=len, default=None)


@dataclass(frozen=True)
class Project:
    root: Path

    @cached_property
    def modules(self):
        return read_modules(self.root)

    def modules_with(self, *words):
        """Yield the modules whose text has one of some words: to walk all trees takes seconds."""
        for module in self.modules.values():
            text = module.path.read_text(encoding="utf-8")
            if any(word in text for word in words):
                yield module

    @cached_property
    def imports(self) -> list[tuple[Module, Import]]:
        return [
            (module, imported)
            for module in self.modules.values()
            for imported in module.imports(self.modules)
        ]

    def rooms(self):
        """A module imports from its own room and from those before it, even for types only."""
        for module in self.modules.values():
            if room_of(module.name) is None:
                message = f"{module.name} belongs to no room; add its room to ROOMS"
                yield Violation(module.path, 1, "rooms", message)
        for module, imported in self.imports:
            here, there = room_of(module.name), room_of(imported.target)
            if not is_ours(imported.target) or here is None:
                continue
            if there is None or ROOMS.index(there) > ROOMS.index(here):
                message = (
                    f"{module.name} (room {here or 'façade'!r}) imports {imported.target}, "
                    f"of the later room {'façade' if there == '' else there!r}"
                )
                yield Violation(module.path, imported.line, "rooms", message)

    def cycles(self):
        """No module needs itself in order to be imported."""
        for path, line, cycle in self._circle(
            imported for imported in self.imports if not imported[1].for_types
        ):
            yield Violation(path, line, "cycles", cycle)

    def type_cycles(self):
        """Imports for types close no circles other than those of ``MUTUAL``."""
        if any(self.cycles()):
            return
        for path, line, cycle in self._circle(
            (module, imported)
            for module, imported in self.imports
            if not (imported.for_types and is_mutual(module.name, imported.target))
        ):
            yield Violation(path, line, "type-cycles", cycle)

    def _circle(self, imports):
        """Yield a circle of these imports, if there is one: where it begins, and its modules."""
        lines = {
            (module.name, imported.target): imported.line
            for module, imported in imports
            if not (imported.in_function or imported.is_late)
        }
        graph = {name: set() for name in self.modules}
        for source, target in lines:
            if target in graph and source != target:
                graph[source].add(target)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = error.args[1][::-1]
            yield self.modules[cycle[0]].path, lines[cycle[0], cycle[1]], " -> ".join(cycle)

    def late_imports(self):
        """Inside functions only packages that are optional or slow to import are imported."""
        for module, imported in self.imports:
            if imported.in_function and imported.target.partition(".")[0] not in MAY_BE_LATE:
                message = f"{imported.target} is imported inside a function; import it at the top"
                yield Violation(module.path, imported.line, "late-imports", message)

    def late_types(self):
        """A name that stands for a late module is for type checkers that module."""
        for module in self.modules.values():
            if not module.has_late:
                continue
            seen = dict(module.names_for_types(self.modules))
            for node, _, _ in walk(module.tree):
                match node:
                    case ast.Assign(
                        targets=[ast.Name(id=name)],
                        value=ast.Call(func=ast.Name(id="LateModule")) as call,
                    ) if seen.get(name) != late_targets(call)[0]:
                        message = (
                            f"{name} is {late_targets(call)[0]} late, and for type checkers "
                            f"{seen.get(name, 'nothing')}"
                        )
                        yield Violation(module.path, node.lineno, "late-types", message)

    def hidden_imports(self):
        """``import_module`` serves the façade, ``compat``, ``_base.late``, and late packages."""
        for module in self.modules_with("import_module", "__import__"):
            lazy = [
                node
                for node in module.tree.body
                if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
            ]
            in_lazy = {id(node) for function in lazy for node in ast.walk(function)}
            for node in ast.walk(module.tree):
                if not isinstance(node, ast.Call):
                    continue
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called not in {"import_module", "__import__"} or room_of(module.name) == "":
                    continue
                if id(node) in in_lazy:
                    message = "late_names() is what makes names load lazily"
                elif room_of(module.name) == "compat" or module.name == LATE or may_hide(node):
                    continue
                else:
                    message = f"{ast.unparse(node)} hides an import; write an import statement"
                yield Violation(module.path, node.lineno, "hidden-imports", message)

    def offered(self):
        """Packages, and modules that users import by name, say in ``__all__`` what they offer."""
        starred = {
            node.module
            for module in self.modules_with("import *")
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        }
        for module in self.modules.values():
            line = bound_at(module.tree, "__all__")
            is_facade = (
                module.path.name == "__init__.py"
                or room_of(module.name) == "compat"
                or module.name in OFFERING | starred
                or bound_at(module.tree, "__dir__") is not None
            )
            if line is not None and not is_facade:
                message = "__all__ is for packages and modules that users import by name"
                yield Violation(module.path, line, "offered", message)

    def private(self):
        """What a room calls ``_private`` is imported only inside that room."""
        for module, imported in self.imports:
            room = room_of(imported.target)
            if not is_ours(imported.target) or room in {None, room_of(module.name)}:
                continue
            inside = imported.target.removeprefix(f"{PACKAGE}.{room}").split(".")
            if any(part.startswith("_") and not part.endswith("__") for part in inside):
                message = f"{module.name} imports {imported.target}, private to room {room!r}"
                yield Violation(module.path, imported.line, "private", message)

    def size(self):
        """A file can be read in one sitting."""
        for module in self.modules.values():
            lines = len(module.path.read_text(encoding="utf-8").splitlines())
            if lines > MOST_LINES:
                message = f"{lines} lines; split the file (at most {MOST_LINES})"
                yield Violation(module.path, MOST_LINES + 1, "size", message)

    def paths(self):
        """No text file mentions a path that only one machine has."""
        for path in text_files(self.root):
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # not text
                continue
            for number, line in enumerate(text.splitlines(), start=1):
                if found := MACHINE_PATH.search(line):
                    message = f"mentions {line[found.start() :].split()[0]}, a path of one machine"
                    yield Violation(path, number, "paths", message)

    def class_names(self):
        """A name that modules share stands for one class, but for those of other libraries."""
        seen = set()
        for module in self.modules_with("class"):
            if room_of(module.name) == "compat" or module.name in NAMED_AS_ELSEWHERE:
                continue
            for node in module.tree.body:
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if node.name in seen:
                    message = f"{node.name} is the name of another class as well"
                    yield Violation(module.path, node.lineno, "class-names", message)
                seen.add(node.name)

    def asserts(self):
        """An ``assert`` tells type checkers what always holds: ``python -O`` leaves it out."""
        for module in self.modules_with("assert"):
            for node in ast.walk(module.tree):
                if not isinstance(node, ast.Assert):
                    continue
                if node.msg is not None or not narrows_a_type(node.test):
                    message = f"{ast.unparse(node)}: what may fail raises an error of its own"
                    yield Violation(module.path, node.lineno, "asserts", message)

    RULES = (
        *(
            rooms,
            cycles,
            type_cycles,
            late_imports,
            late_types,
            hidden_imports,
            offered,
            private,
            class_names,
            size,
            paths,
        ),
        asserts,
    )


def narrows_a_type(test: ast.expr) -> bool:
    """Return whether an asserted expression only says which type a name or attribute has."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return narrows_a_type(operand)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() | ast.Attribute(), _]):
            return True
        case ast.Compare(
            left=ast.Name() | ast.Attribute(),
            ops=[ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return True
    return False


def bound_at(tree: ast.Module, name: str) -> int | None:
    """Return the line at which a module binds a name, ``None`` if it does not."""
    for statement in top_statements(tree):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if name in {each.id for node in targets for each in ast.walk(node) if is_name(each)}:
                return statement.lineno
    return None


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def may_hide(call: ast.Call) -> bool:
    """Return whether ``import_module`` is called on a package that may be late."""
    match call.args:
        case [ast.Constant(value=str(name)), *_]:
            return name.partition(".")[0] in MAY_BE_LATE
        case [ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]), *_]:  # f"scipy.{name}"
            package, dot, _ = start.partition(".")
            return dot == "." and package in MAY_BE_LATE
    return False


def text_files(folder: Path) -> Iterable[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            hidden = path.name.startswith(".") and path.name not in {".ci", ".github"}
            if not hidden and path.name not in TOOL_FOLDERS:
                yield from text_files(path)
        elif path.is_file() and path.name != ".git":  # of a worktree: says where the clone is
            yield path


@pytest.fixture(scope="module")
def project():
    """Phintys, read once for all rules."""
    return Project(PROJECT)


@pytest.mark.parametrize("rule", Project.RULES, ids=lambda rule: rule.__name__)
def test_phintys_obeys(project, rule):
    assert PACKAGE in project.modules
    violations = [str(violation) for violation in rule(project)]
    if violations:
        pytest.fail("\n".join([rule.__doc__, *violations]), pytrace=False)


def test_the_index_says_what_the_source_says(project):
    written = index_path(PROJECT).read_text(encoding="utf-8")
    assert written == index_of(project.modules), "run `make index`"


# The checker itself, on small trees.


def broken(root, files):
    """Return (file, line, rule) of all that is wrong in a project made of ``files``."""
    files = {"src/phintys/__init__.py": "", **files}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project = Project(root)
    violations = [violation for rule in Project.RULES for violation in rule(project)]
    for violation in violations:
        location = f"{violation.path}:{violation.line}: [{violation.rule}] "
        assert str(violation).startswith(location)
    return [
        (violation.path.relative_to(root).as_posix(), violation.line, violation.rule)
        for violation in violations
    ]


def in_package(files):
    return {f"src/phintys/{name}": text for name, text in files.items()}


def path_in(folder):
    return f"/{folder}/x"


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
GOOD = {
    "down": {
        "_base/config.py": "import os\n",
        "graph/op.py": "from phintys._base.config import x\nfrom phintys._base import config\n",
        "tensor/basic.py": "import phintys.graph.op as op\nfrom .math import y\n",
        "tensor/math.py": "from ..graph import op\n",
        "backends/native/lower/all.py": "from phintys.backends.reference import vm\n",
        "backends/reference/vm.py": "from phintys.backends import registry\n",
        "__main__.py": "import phintys\nimport phintys.compile\n",
    },
    "façade": {
        "__init__.py": (
            "import importlib\n"
            "def __getattr__(name):\n"
            "    return importlib.import_module('phintys.' + name)\n"
        ),
    },
    "package façade": {
        "graph/__init__.py": "from .op import Op as Op\nfrom . import type\n",
        "graph/op.py": "from phintys.graph.type import Type\nfrom . import type\n",
        "graph/type.py": "",
    },
    "cycle of types that are one concept": {
        "graph/variable.py": f"{FOR_TYPES}    from . import apply\n",
        "graph/apply.py": "from . import variable\n",
    },
    "late": {
        "graph/a.py": (
            "def f():\n"
            "    import scipy.linalg.blas\n"
            "    from llvmlite import binding\n"
            "    g = import_module('jax.numpy')\n"
            "    return import_module(f'scipy.{g}')\n"
        ),
    },
    "late modules": {
        "graph/a.py": (
            f"from . import b\n{FOR_TYPES}    from . import b as c\n"
            "else:\n    c = LateModule('phintys.graph.b')\n"
        ),
        "graph/b.py": (
            f"{FOR_TYPES}    from phintys.graph import d\n    import json, x.y as z\n"
            "else:\n"
            "    d, e = 1, 2\n"
            "    json = LateModule('json')\n"
            "    z = LateModule('x.y')\n"
            "a: Any = LateModule('phintys.graph.a')\n"
        ),
        "graph/d.py": "",
    },
    "late names": {
        "graph/__init__.py": (
            "if TYPE_CHECKING:\n    from phintys.graph.a import x\n"
            "else:\n    f, g = late_names(__name__)\n"
        ),
        "graph/a.py": "x = 1\n",
    },
    "what modules offer": {
        "graph/__init__.py": "from phintys.graph.a import *\n__all__ = ['x']\n",
        "graph/a.py": "__all__ = ['x']\n",
        "graph/features.py": "__all__ = ['y']\n__dir__ = public_dir(__name__)\n",
        "graph/aliasing.py": "__all__ = ['z']\n",
        "compat/old.py": "__all__ = ['x']\n",
    },
    "private at home": {
        "backends/native/writer/_text.py": "",
        "backends/native/writer/all.py": "from . import _text\n",
        "backends/native/program.py": "from .writer._text import x\nfrom __future__ import y\n",
        "backends/native/__main__.py": "",
        "compile/function.py": "from phintys.backends.native import __main__\n",
    },
    "import alias": {"compat/old.py": "def f(x):\n    return import_module(x)\n"},
    "asserts": {
        "graph/a.py": "assert isinstance(x, A | B)\nassert not isinstance(x.y, C)\n"
        "assert x is not None\n"
    },
    "names alike": {"graph/a.py": "import phintysics\nfrom scipy import _lib\n"},
}


@pytest.mark.parametrize("files", GOOD.values(), ids=GOOD)
def test_good_trees(tmp_path, files):
    assert not broken(tmp_path, in_package(files))


TYPES_ONLY = "if typing.TYPE_CHECKING:\n    from ..tensor import x\nelse:\n    from . import y\n"
BAD = {
    "up": ("rooms", 2, {"graph/op.py": "\nfrom phintys.tensor import x\n"}),
    "up, relative": ("rooms", 1, {"graph/op.py": "from ..tensor.basic import x\n"}),
    "up, types only": ("rooms", 2, {"graph/op.py": TYPES_ONLY}),
    "up, in a function": (
        "rooms late_imports",
        2,
        {"graph/op.py": "def f():\n    import phintys.tensor\n"},
    ),
    "out of the assembler": (
        "rooms",
        1,
        {"backends/native/assembler/a.py": "from phintys.backends.native import program\n"},
    ),
    "to a neighbour": ("rooms", 1, {"backends/native/a.py": "import phintys.backends.jax\n"}),
    "to the façade": ("rooms", 1, {"compile/a.py": "from phintys import function\n"}),
    "to no room": ("rooms", 1, {"graph/op.py": "from phintys.attic import x\n"}),
    "no room": ("rooms", 1, {"attic/op.py": ""}),
    "cycle": (
        "cycles",
        2,
        {"graph/a.py": "\nfrom .b import x\n", "graph/b.py": "\nimport phintys.graph.a\n"},
    ),
    "cycle for types": (
        "type_cycles",
        3,
        {"graph/a.py": f"{FOR_TYPES}    from . import b\n", "graph/b.py": "\n\nfrom . import a\n"},
    ),
    "cycle for types, the wrong way": (
        "type_cycles",
        3,
        {
            "graph/variable.py": "\n\nfrom . import printing\n",
            "graph/printing.py": f"{FOR_TYPES}    from . import latex\n",
            "graph/latex.py": "\n\nfrom . import variable\n",
        },
    ),
    "cycle through a package": (
        "cycles",
        1,
        {"graph/__init__.py": "from .op import Op\n", "graph/op.py": "from . import Op\n"},
    ),
    "cycle in a class": (
        "cycles",
        2,
        {
            "graph/a.py": "try:\n    from . import b\nfinally:\n    pass\n",
            "graph/b.py": "class A:\n    from . import a\n",
        },
    ),
    "late, ours": ("late_imports", 2, {"graph/a.py": "def f():\n    from . import b\n"}),
    "late, standard library": (
        "late_imports",
        3,
        {"graph/a.py": "class A:\n    async def f():\n        import os\n"},
    ),
    "late module, up": ("rooms", 1, {"graph/a.py": "b: Any = LateModule('phintys.tensor.b')\n"}),
    "late module, in a function": (
        "late_imports",
        2,
        {"graph/a.py": "def f():\n    return LateModule('phintys.graph.b').x\n"},
    ),
    "late module, nothing for types": (
        "late_types",
        1,
        {"graph/a.py": "b = LateModule('phintys.graph.b')\n", "graph/b.py": ""},
    ),
    "late module, another for types": (
        "late_types",
        5,
        {
            "graph/a.py": (
                f"{FOR_TYPES}    from . import c as b\nelse:\n"
                "    b = LateModule('phintys.graph.b')\n"
            ),
            "graph/b.py": "",
            "graph/c.py": "",
        },
    ),
    "lazy": (
        "hidden_imports",
        2,
        {"tensor/__init__.py": "def __getattr__(name):\n    return import_module(name)\n"},
    ),
    "lazy in compat": (
        "hidden_imports",
        2,
        {"compat/__init__.py": "def __getattr__(name):\n    return import_module(name)\n"},
    ),
    "hidden": ("hidden_imports", 1, {"graph/a.py": "importlib.import_module('phintys.x')\n"}),
    "hidden, f-string": ("hidden_imports", 1, {"graph/a.py": "import_module(f'{x}.scipy')\n"}),
    "hidden, prefix": ("hidden_imports", 1, {"graph/a.py": "import_module(f'scipy{x}')\n"}),
    "hidden, unknown": ("hidden_imports", 1, {"graph/a.py": "__import__(name)\n"}),
    "what an internal module offers": ("offered", 2, {"graph/a.py": "x = 1\n__all__ = ['x']\n"}),
    "private": (
        "private",
        1,
        {"tensor/a.py": "from phintys.graph._secret import x\n", "graph/_secret.py": ""},
    ),
    "private, by name": (
        "private",
        1,
        {"tensor/a.py": "from phintys.graph import _secret\n", "graph/_secret.py": ""},
    ),
    "private to _base": ("private", 1, {"graph/a.py": "import phintys._base._secret\n"}),
    "private folder": ("private", 1, {"tensor/a.py": "import phintys.graph._secret.x\n"}),
    "class twice": (
        "class_names",
        2,
        {"graph/a.py": "class Form: ...\n", "tensor/a.py": "\nclass Form: ...\n"},
    ),
    "size": ("size", 1001, {"graph/a.py": "\n" * 1001}),
    "assert": ("asserts", 2, {"graph/a.py": "def f(x):\n    assert x > 0\n"}),
    "assert, with a message": ("asserts", 1, {"graph/a.py": "assert x is not None, 'x'\n"}),
    "assert, a call": ("asserts", 1, {"graph/a.py": "assert isinstance(xs.pop(), int)\n"}),
    "assert, with an effect": ("asserts", 1, {"graph/a.py": "assert seen.add(x) is None\n"}),
    "path": ("paths", 3, {"graph/a.py": f"\n\nx = '{path_in('work')}'\n"}),
}


@pytest.mark.parametrize(("rules", "line", "files"), BAD.values(), ids=BAD)
def test_bad_trees(tmp_path, rules, line, files):
    found = broken(tmp_path, in_package(files))
    names = {rule.replace("-", "_") for _, _, rule in found}
    assert names == set(rules.split())
    assert {number for _, number, _ in found} == {line}


@pytest.mark.parametrize("folder", ["work", "root", "home", "Users"])
@pytest.mark.parametrize("name", ["README.md", ".ci/run", "Makefile", "docs/index.html"])
def test_paths_of_machines(tmp_path, name, folder):
    path = path_in(folder)
    assert broken(tmp_path, {name: f"\nsee `{path}`\n"}) == [(name, 2, "paths")]


@pytest.mark.parametrize("name", [".venv/x.py", ".git/config", "build/x.py", "__pycache__/x.txt"])
def test_folders_of_tools_are_not_searched(tmp_path, name):
    assert not broken(tmp_path, {name: path_in("root")})


def test_other_paths_are_fine(tmp_path):
    path = path_in("work")
    text = f"https://example.org{path} src{path} ../..{path} **{path} ${{HOME}}{path} ~{path}"
    assert not broken(tmp_path, {"README.md": text})
    (tmp_path / "data.gz").write_bytes(b"\x1f\x8b\xff" + path.encode())
    assert not broken(tmp_path, {})
