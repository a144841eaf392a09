"""Programs for Python 2 and an older NumPy, with modules of their own."""

from __future__ import annotations

import collections
import itertools
import sys

import numpy as np
import pytest

from phintys.compat import PACKAGES, uninstall
from phintys.compat.script import run_script


@pytest.fixture
def run(tmp_path):
    """Write modules and run the first one."""

    def run_files(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source)
        before = set(sys.modules)
        try:
            return run_script(str(tmp_path / f"{next(iter(sources))}.py"), [])
        finally:
            for name in set(sys.modules) - before:
                if name in sources:
                    del sys.modules[name]
            for package in PACKAGES:
                uninstall(package)

    return run_files


def test_imported_modules_are_translated_with_old_divisions(run, capsys, tmp_path):
    program = run(
        script="import helper, other\nprint 'began'\nfound = helper.half(7), other.third(7)\n",
        helper="def half(n):\n    print 'half'\n    return n / 2\n",
        other="def third(n):\n    return n / 3\n",
    )
    assert program.found == (3, 2)
    assert capsys.readouterr().out == "began\nhalf\n"
    assert not list(tmp_path.rglob("*.pyc"))


def test_modules_of_programs_in_python3_are_as_they_are(run):
    program = run(script="import helper\nfound = helper.half(7)\n", helper="half = lambda n: n / 2")
    assert program.found == 3.5


def test_names_of_python2_in_a_script_that_is_python3_as_well(run):
    program = run(
        script=(
            "import itertools, cPickle, StringIO, Queue\n"
            "found = [sum(xrange(4)), unicode('a'), list(itertools.izip([1], [2])), long(3)]\n"
            "found += [cPickle.loads(cPickle.dumps(5)), StringIO.StringIO('b').read()]\n"
            "found += [Queue.Queue().empty(), isinstance('c', basestring), cmp(1, 2)]\n"
        )
    )
    assert program.found == [6, "a", [(1, 2)], 3, 5, "b", True, True, -1]
    assert not hasattr(itertools, "izip")
    assert "cPickle" not in sys.modules


def test_old_names_of_numpy_warn_once_each(run):
    source = (
        "import numpy as np\n"
        "found = [np.cast['float32'](i).dtype == 'float32' for i in range(3)]\n"
        "found += [np.product([2, 3]), np.float_(1), np.float is float]\n"
    )
    with pytest.warns(UserWarning, match=r"NumPy no longer has np\.") as noted:
        program = run(script=source)
    assert program.found == [True, True, True, 6, 1.0, True]
    assert len(noted) == 4
    with pytest.raises(AttributeError):
        getattr(np, "product")  # noqa: B009 - a name that NumPy lacks


def test_floats_are_sizes_with_one_warning_a_function(run):
    source = (
        "import numpy, numpy as np\n"
        "found = [np.zeros((4 / 2., 3)).shape, np.ones(2.0).shape, np.full(2., 7.).tolist()]\n"
        "found += [np.zeros(shape=(1, 2.)).shape, numpy.reshape(np.arange(6), (2., -1)).shape]\n"
        "found += [np.tile([1], 2.).tolist(), np.repeat([1], 3.).tolist(), np.eye(2.).shape]\n"
    )
    with pytest.warns(UserWarning, match="as sizes: .* is taken as") as caught:
        program = run(script=source)
    assert program.found == [(2, 3), (2,), [7, 7], (1, 2), (2, 3), [1, 1], [1, 1, 1], (2, 2)]
    named = [str(one.message).split()[0] for one in caught if "as sizes" in str(one.message)]
    assert sorted(named) == ["np.eye", "np.full", "np.ones", "np.repeat", "np.reshape",
                             "np.tile", "np.zeros"]  # fmt: skip
    with pytest.raises(TypeError):
        np.zeros(2.0)
    assert all("compat" not in getattr(np, name).__module__ for name in ("zeros", "tile"))


def test_floats_are_indices_of_arrays_in_python2(run):
    source = (
        "import numpy as np\n"
        "print 'Python 2'\n"
        "x, named = np.arange(6), {0.5: 'half', (1.0, 2): 'pair'}\n"
        "m = x.reshape((2, 3))\n"
        "found = [x[7 / 2.], x[1.0:5.:2].tolist(), m[1., :2.].tolist(), m[np.float32(1)][0]]\n"
        "found += [named[0.5], named[1.0, 2], [1, 2, 3][-1], x[None, 0:1].shape, x[x > 4].size]\n"
        "x[np.floor(2.5)] = 9\n"
        "x[0.] += 7\n"
        "x[5.0] /= 2\n"
        "del named[0.5]\n"
        "found += [x.tolist(), len(named), [[1, 2][i] for i in range(2)]]\n"
        "class Table:\n"
        "    rows = [[1, 2][i] for i in (0, 1)]\n"
        "    rows[0] = 5\n"
    )
    with pytest.warns(UserWarning, match="floats as indices: .* is taken as") as caught:
        program = run(script=source)
    assert program.found[:9] == [3, [1, 3], [3, 4], 3, "half", "pair", 3, (1, 1), 1]
    assert program.found[9:] == [[7, 1, 9, 3, 4, 2], 1, [1, 2]]
    assert program.Table.rows == [5, 2]
    assert {one.filename.rsplit("/", 1)[-1] for one in caught} == {"script.py"}
    with pytest.raises(TypeError, match="indices must be integers"):
        run(script="print 'a'\n[1, 2][1.0]\n")


def test_abstract_classes_are_in_collections_while_the_program_runs(run):
    source = "import collections\nfound = issubclass(list, collections.Sequence)\n"
    source += "found &= isinstance(3, collections.Hashable) and hasattr(collections, 'deque')\n"
    assert run(script=source).found
    assert not hasattr(collections, "Sequence")
