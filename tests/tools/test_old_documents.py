"""The runner of the documents of old packages."""

from pathlib import Path

import pytest

from tools import old_documents

DOCUMENT = """
>>> x = T.dscalar("x")
>>> function([x], x + 1)(2)
array(3.0)
>>> with open("made.save", "w") as file:
...     number = file.write("text")
>>> from pathlib import Path
>>> Path("made.save").exists()
True
>>> 1 + 1
3
"""


def test_examples_are_counted_and_their_files_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "one.txt").write_text(DOCUMENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert old_documents.main(["theano", "documents"]) == 0
    assert "5 of 6 examples print what they should" in capsys.readouterr().out
    assert [one.name for one in tmp_path.iterdir()] == ["documents"]
