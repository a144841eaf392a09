"""Names are looked up where they would be used."""

from tools.coverage.counting import WITHOUT_MEANING, Name, by_family, by_peer, missing, read_names


def _status(name, here=""):
    return Name("family", name, ("numpy",), 1, here).status


def test_names_are_looked_up_in_the_packages():
    assert _status("pt.median") == "present"
    assert _status("pt.linalg.cholesky") == "present"
    assert _status("TensorVariable.owner") == "present"
    assert _status("scan") == "present"
    assert _status("pt.arccosine") == "missing"
    assert _status("pt.linalg.median") == "missing"


def test_what_a_graph_cannot_have_is_counted_apart():
    assert _status("TensorVariable.strides") == "meaningless"
    assert _status("TensorVariable.stridden") == "missing"
    assert _status("dtype.info.devices") == "present"
    assert _status("dtype.info.prices") == "missing"


def test_what_is_said_to_have_no_meaning_is_not_there():
    names = {name.name.removeprefix("pt."): name.status for name in read_names()}
    for ones in WITHOUT_MEANING.values():
        assert {names[one] for one in ones} == {"meaningless"}


def test_another_name_counts_only_if_it_is_there():
    assert _status("pt.acosine", here="pt.arccos") == "other"
    assert _status("pt.acosine", here="pt.arccosine") == "missing"


def test_every_name_is_counted_once_in_its_family():
    names = read_names()
    counts = by_family(names)
    assert sum(map(sum, (count.values() for count in counts.values()))) == len(names)
    assert set(by_peer(names)) == {"numpy", "array-api", "pytensor"}
    absent = [name for ones in missing(names, 1).values() for name in ones]
    assert len(absent) == sum(count["missing 1"] for count in counts.values())


def test_what_most_programs_use_of_arrays_is_there():
    assert not missing(read_names(), 1)
    assert missing(read_names(), 2) == {"control flow": ["control.LazyIfElse"]}
