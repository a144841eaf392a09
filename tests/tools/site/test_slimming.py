"""Styles lose what no page uses, and nothing else."""

import pytest

from tools.site.slimming import purged, slim, without_unread


@pytest.mark.parametrize(
    ("style", "kept"),
    [
        (".gone{a:b}", ""),
        (".gone,.here{a:b}", ".here{a:b}"),
        ("p,#gone p{a:b}", "p{a:b}"),
        (".here:not(.gone){a:b}", ".here:not(.gone){a:b}"),
        (".here:is(.gone,p){a:b}", ".here:is(.gone,p){a:b}"),
        (".here.gone{a:b}", ""),
        ("a[href='.gone{']{a:b}", "a[href='.gone{']{a:b}"),
        ("@media (x){.gone{a:b}}", ""),
        ("@media (x){.gone{a:b}.here{a:b}}", "@media (x){.here{a:b}}"),
        ("@font-face{src:url(x)}", "@font-face{src:url(x)}"),
        ("@keyframes gone{0%{a:b}to{a:c}}", "@keyframes gone{0%{a:b}to{a:c}}"),
        ("@import 'x;y.css';.here{a:b}", "@import 'x;y.css';.here{a:b}"),
        ("/* .gone{ */.here{a:'}'}", ".here{a:'}'}"),
        (".here{b:url(data:image/x;c,{})}", ".here{b:url(data:image/x;c,{})}"),
    ],
)
def test_selectors_of_what_pages_lack_are_removed(style, kept):
    assert purged(style, {"here"}) == kept


def test_properties_that_nothing_reads_are_removed():
    style = ":root{--a:1;--b:var(--c);--c:2;--d:3}p{color:var(--b)}"
    assert without_unread([style]) == [":root{--b:var(--c);--c:2}p{color:var(--b)}"]
    assert without_unread([":root{--d:3}"], ["x.style.getPropertyValue('--d')"]) == [":root{--d:3}"]


def test_a_property_may_be_read_by_another_sheet():
    sheets = [":root{--a:1;--b:2}", "p{color:var(--a)}"]
    assert without_unread(sheets) == [":root{--a:1}", "p{color:var(--a)}"]


def test_what_scripts_name_stays(tmp_path):
    (tmp_path / "page.html").write_text('<p class="here other">')
    (tmp_path / "page.js").write_text("x.classList.add('shown')")
    (tmp_path / "page.css").write_text(".here{a:b}.shown{a:b}.gone{a:b}")
    slim(tmp_path)
    assert (tmp_path / "page.css").read_text() == ".here{a:b}.shown{a:b}"
