"""Modules that are imported when they are first used."""

import pickle
import subprocess
import sys
import traceback

import pytest

import phintys
from phintys._base.late import LateModule, is_instance_of_late, late_names


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


def test_nothing_is_an_instance_of_a_class_that_nobody_has_imported():
    late = LateModule("phintys.not_there")
    assert not is_instance_of_late(3, late, "Anything")
    home = LateModule("phintys._base.late")
    assert is_instance_of_late(late, home, "LateModule")
    assert not is_instance_of_late(3, home, "LateModule")
    assert run(
        "import sys\n"
        "from phintys._base.late import LateModule, is_instance_of_late\n"
        "print(is_instance_of_late(3, LateModule('colorsys'), 'Any'), 'colorsys' in sys.modules)"
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
    look_up, _ = late_names("phintys", {"phintys.gradient": "grad"})
    with pytest.raises(AttributeError, match="'phintys' has no attribute 'gard'") as caught:
        look_up("gard")
    assert caught.value.name == "gard"
    assert "".join(traceback.format_exception(caught.value)).count("Did you mean") == 1


def test_only_modules_in_the_package_itself_are_offered():
    look_up, all_names = late_names(
        "phintys", {"phintys.testing": "", "phintys.graph.printing": ""}
    )
    assert look_up("testing") is phintys.testing
    assert "testing" in all_names()
    assert "printing" not in all_names()
    with pytest.raises(AttributeError, match="no attribute 'printing'"):
        look_up("printing")
