"""Modules that are imported when they are first used."""

import pickle
import subprocess
import sys
import traceback

import pytest

import phintys
from phintys._base import index
from phintys._base.late import Homes, LateModule, is_imported, late_names


def run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout.split()


def test_a_late_module_is_imported_by_its_first_use():
    assert run(
        "import sys\n"
        "from phintys._base.late import LateModule\n"
        "late = LateModule('this_is.not_there'), LateModule('colorsys')\n"
        "print('colorsys' in sys.modules)\n"
        "print(late[1].rgb_to_hsv(0, 0, 0) == (0, 0, 0), 'colorsys' in sys.modules)\n"
    ) == ["False", "True", "True"]


def test_a_late_module_is_the_module_itself(monkeypatch):
    late = LateModule("phintys._base.late")
    assert late.LateModule is LateModule
    monkeypatch.setattr("phintys._base.late.LateModule", 1)
    assert late.LateModule == 1
    with pytest.raises(AttributeError, match="late"):
        late.no_such_name
    with pytest.raises(ModuleNotFoundError, match="not_there"):
        LateModule("phintys.not_there").anything
    assert repr(late) == "LateModule('phintys._base.late')"


def test_a_late_module_is_pickled():
    late = pickle.loads(pickle.dumps(LateModule("colorsys")))
    assert late.rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_asking_whether_a_module_is_imported_does_not_import_it():
    assert not is_imported(LateModule("phintys.not_there"))
    assert is_imported(LateModule("phintys._base.late"))
    assert run(
        "import sys\n"
        "from phintys._base.late import LateModule, is_imported\n"
        "print(is_imported(LateModule('colorsys')), 'colorsys' in sys.modules)"
    ) == ["False", "False"]


def test_late_names_are_looked_up_once(monkeypatch):
    monkeypatch.delattr(phintys, "grad", raising=False)
    found = phintys.grad
    assert vars(phintys)["grad"] is found is phintys.gradient.grad


def test_late_names_are_listed_and_star_imported():
    assert {"grad", "gradient", "DebugMode", "testing", "function"} <= set(dir(phintys))
    names = run("from phintys import *\nprint(grad.__name__, DebugMode.__name__, testing.__name__)")
    assert names == ["grad", "DebugMode", "phintys.testing"]


def test_a_wrong_name_is_an_attribute_error():
    look_up, _ = late_names("phintys")
    with pytest.raises(AttributeError, match="'phintys' has no attribute 'gard'") as caught:
        look_up("gard")
    assert caught.value.name == "gard"
    assert "".join(traceback.format_exception(caught.value)).count("Did you mean") == 1


def test_modules_are_offered_and_those_of_the_package_are_found(monkeypatch):
    table = {"phintys.testing": "", "phintys.tree": "flatten", "phintys.graph.printing": "dprint"}
    monkeypatch.setitem(index.FACADES, "phintys", table)
    look_up, all_names = late_names("phintys")
    assert look_up("testing") is phintys.testing
    assert look_up("tree") is phintys.tree
    assert {"testing", "flatten", "dprint"} <= set(all_names())
    with pytest.raises(AttributeError, match="no attribute 'printing'"):
        look_up("printing")


def test_what_is_registered_later_replaces_what_the_index_names():
    homes = Homes({"phintys._base.no_such_module": "a", "phintys._base.late": "b"})
    assert dict(homes) == {"a": "phintys._base.no_such_module", "b": "phintys._base.late"}
    homes.load("nothing of the kind")
    homes.load_before("b")  # which has been imported
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        homes.load("a")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        homes.load_before("a")
