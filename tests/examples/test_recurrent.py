import numpy as np
import pytest

NAME = "recurrent"


@pytest.fixture(scope="module")
def trained(example):
    return example.main(["--epochs", "30", "--letters", "40"])


def test_the_network_learns(trained):
    assert trained.losses[0] > 2.5
    assert trained.losses[-1] < 2.1
    assert np.all(np.isfinite(trained.losses))


def test_what_it_writes_begins_as_told(trained):
    written = trained.write("My mistress", 50)
    assert written.startswith("My mistress")
    assert len(written) == len("My mistress") + 50
    assert set(written) <= set(trained.alphabet)
    assert trained.write("My mistress", 50) == written


def test_the_program_shows_its_progress(example, capsys):
    example.main(["--epochs", "1", "--letters", "5"])
    said = capsys.readouterr()
    assert "letters to learn from" in said.out
    assert "nats a letter" in said.out
    assert "100%" in said.err


def test_unknown_letters_are_refused(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--start", "4 §"])
    assert "'4§'" in capsys.readouterr().err


def test_the_data_come_with_their_source(example):
    about = (example.DATA.parent / "README.md").read_text(encoding="utf-8")
    for name in ("nile.csv", "hudson_bay.csv", "sonnets.txt"):
        assert f"## `{name}`" in about
        assert (example.DATA.parent / name).is_file()
