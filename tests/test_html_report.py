"""The page as a browser shows it. The text of it, without one, as a reader's program would find it."""

from __future__ import annotations

import html.parser
import io
import itertools
import os
import pathlib
from collections.abc import Iterator

import pytest

from kdacheck.finding import Finding, Fix, Origin, Position
from kdacheck.report import Run, write
from tests.browser import Page, browser, executable

CALL = """\
import torch
from fla.ops.kda import chunk_kda
from helpers import rows


def run(g, beta, cu):
    q = rows(
        2
    )
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu)
"""
HELPER = """\
import torch


def rows(n):
    return torch.randn(n, 128, 8, 64)  # <b>not bold</b> & "so"
"""


def finding(**changes) -> Finding:
    given = {
        "code": "KDA001",
        "name": "unflattened-batch",
        "message": "`q` has batch size 2",
        "remedy": "flatten it",
        "filename": "model.py",
        "location": Position(10, 22),
        "end_location": Position(10, 23),
        "callee": "fla.ops.kda.chunk_kda",
        "version": "0.6.0",
        "span": (10, 10),
        "origins": (Origin("`q`: randn made it", "helpers.py", Position(5, 12), Position(5, 38)),),
    }
    return Finding(**{**given, **changes})


BIAS = finding(
    code="KDA101",
    name="strided-dt-bias",
    message="`dt_bias` must be dense",
    filename="other.py",
    location=Position(1, 1),
    end_location=Position(1, 5),
    span=None,
    origins=(),
    likely=True,
)


def page_of(*findings: Finding, run: Run | None = None) -> str:
    stream = io.StringIO()
    write("html", findings, stream, run)
    return stream.getvalue()


@pytest.fixture
def sources(write) -> None:
    write("model.py", CALL)
    write("helpers.py", HELPER)
    write("other.py", "pass\n")


class Elements(html.parser.HTMLParser):
    """Every element with its attributes, and whether each that must be is closed in turn."""

    VOID = frozenset(("meta", "input", "wbr"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.mark.usefixtures("project", "sources")
def test_the_page_is_whole_and_asks_for_nothing():
    text = page_of(finding(), BIAS, run=Run(files=3, known=4))
    elements = Elements(text).found
    assert text.isascii(), "it reads the same in every encoding"
    assert {tag for tag, _ in elements}.isdisjoint({"link", "img", "iframe", "object", "base"})
    for tag, attributes in elements:
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        if tag == "a":
            href = attributes["href"] or ""
            assert href.startswith(("#", "https://github.com/kdacheck/kdacheck"))
    identities = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for _, attributes in elements:
        target = attributes.get("href") or ""
        assert not target.startswith("#") or target[1:] in identities


@pytest.mark.usefixtures("project")
def test_everything_is_escaped(write):
    evil = '</script><script>alert("1")</script>'
    write("evil.py", f"x = '{evil}'\nchunk_kda(q)  # \x00\x1b\ufffe\u202e\n")
    odd = finding(
        code=evil,
        name=evil,
        message=f"`{evil}` {evil}\x00\udcff",
        remedy=evil,
        filename="evil.py",
        location=Position(1, 5),
        end_location=Position(1, 20),
        span=(1, 2),
        callee=evil,
        version=evil,
        origins=(Origin(evil, evil, Position(1, 1), Position(9, 1)),),
        fix=Fix("safe", evil, ()),
    )
    text = page_of(odd)
    assert text.count("<script>") == 1
    assert "alert(" in text
    assert not any(ord(char) < 32 and char != "\n" for char in text)
    assert "&#8238;" not in text, "what turns the direction of writing is shown, not obeyed"
    scripts = [tag for tag, _ in Elements(text).found if tag == "script"]
    assert scripts == ["script"]


@pytest.mark.usefixtures("project")
def test_places_that_are_not_in_the_files_are_no_trouble():
    gone = finding(
        filename="gone.py",
        location=Position(10**6, 10**6),
        end_location=Position(1, 1),
        span=(10**6, 10**6 + 5),
    )
    assert "gone.py" in page_of(gone)


@pytest.mark.usefixtures("project")
def test_a_file_with_an_endless_line_stays_plain(write):
    here = finding(location=Position(1, 5), end_location=Position(1, 6), span=None, origins=())
    for brackets, is_coloured in ((3, True), (3_000, False)):
        write("model.py", f"def f():\n    return {'[' * brackets}{']' * brackets}\n")
        page = page_of(here)
        assert "def" in page
        assert ('<span class="k">def</span>' in page) is is_coloured


def test_nothing_found():
    text = page_of(run=Run(files=7))
    assert "No broken call found" in text
    assert "<b>7</b> files checked" in text
    assert "<script>" not in text


@pytest.fixture(scope="module")
def window(tmp_path_factory) -> Iterator[Page]:
    command = executable()
    if command is None:
        pytest.skip("there is no Chromium on this machine")
    with browser(command, tmp_path_factory.mktemp("profile")) as running:
        running.page.resize(1280, 900)
        yield running.page


@pytest.fixture
def shown(window, project, sources) -> Page:
    """The page of three findings in two files."""
    again = finding(message="`k` has batch size 2", location=Position(10, 25))
    pathlib.Path("report.html").write_text(page_of(finding(), again, BIAS, run=Run(files=3)))
    window.requests.clear()
    window.open(pathlib.Path("report.html").absolute().as_uri())
    return window


def visible(page: Page, selector: str) -> list[str]:
    """The texts of the elements that a person sees."""
    return page.evaluate(
        f"[...document.querySelectorAll({selector!r})]"
        ".filter((e) => e.checkVisibility()).map((e) => e.innerText)"
    )


def test_a_browser_shows_it_and_fetches_nothing(shown):
    assert len(visible(shown, ".finding")) == 3
    assert len(shown.requests) == 1
    assert shown.problems == []
    assert not shown.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_typing_filters(shown):
    shown.type("#filter", "kda001 10:25")
    (card,) = visible(shown, ".finding")
    assert "k has batch size 2" in card
    assert visible(shown, "#shown") == ["1 of 3"]
    assert [text.split("\n")[0] for text in visible(shown, ".file > h2")] == ["model.py 1"]
    assert len(visible(shown, ".rule")) == 1
    shown.type("#filter", " nowhere")
    assert visible(shown, ".finding") == []
    assert visible(shown, ".none") == ["Nothing fits these words."]
    shown.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert len(visible(shown, ".finding")) == 3


def test_a_file_name_filters_its_findings(shown):
    shown.type("#filter", "other.py")
    assert [card.split("\n")[0] for card in visible(shown, ".finding")] == ["KDA101"]


def test_words_in_the_address_filter(shown):
    shown.open(pathlib.Path("report.html").absolute().as_uri() + "?q=dt_bias")
    assert len(visible(shown, ".finding")) == 1
    assert shown.evaluate("document.getElementById('filter').value") == "dt_bias"


def test_it_reads_without_scripts(shown):
    shown.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        shown.open(pathlib.Path("report.html").absolute().as_uri())
        assert len(visible(shown, ".finding")) == 3
        assert visible(shown, "#filter") == [], "a box that does nothing is not shown"
    finally:
        shown.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_way_leads_from_the_origin_to_the_call(shown):
    """The drawing begins at the origin's row, ends at the call's, and has no hole."""
    rows = shown.evaluate(
        "[...document.querySelector('.trail').children].map((row) => {"
        "  const box = row.getBoundingClientRect();"
        "  const lane = row.querySelector('.lanes i');"
        "  const drawn = lane && getComputedStyle(lane, '::before').content !== 'none';"
        "  return {top: box.top, bottom: box.bottom, drawn, text: row.innerText,"
        "          dot: !!row.querySelector('.dot'), tip: !!row.querySelector('.tip')};"
        "})"
    )
    drawn = [row for row in rows if row["drawn"]]
    assert drawn[0]["dot"]
    assert "torch.randn(n, 128, 8, 64)" in drawn[0]["text"]
    assert "randn made it" in drawn[0]["text"]
    assert drawn[-1]["tip"]
    assert "return chunk_kda(q, q, q" in drawn[-1]["text"]
    for above, below in itertools.pairwise(drawn):
        assert abs(above["bottom"] - below["top"]) < 1


def test_light_and_dark(shown, tmp_path):
    grounds, pictures = set(), set()
    for scheme in ("light", "dark"):
        shown.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        ground, text = shown.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        assert contrast(ground, text) > 7
        grounds.add(ground)
        picture = tmp_path / f"{scheme}.png"
        shown.screenshot(picture)
        pictures.add(picture.read_bytes())
    shown.call("Emulation.setEmulatedMedia", features=[])
    assert len(grounds) == len(pictures) == 2


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG for two colours as a browser computes them."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_it_fits_a_narrow_window(shown):
    shown.resize(380, 800)
    try:
        assert not shown.evaluate("document.documentElement.scrollWidth > innerWidth")
    finally:
        shown.resize(1280, 900)


def test_the_command_writes_a_page_for_a_real_project(window, kdacheck, write, wrong):
    write("src/model.py", wrong)
    write("src/two.py", wrong.replace("chunk_kda(q, q", "chunk_kda(\n        q, q"))
    ran = kdacheck("--output-format", "html", "-o", "page.html")
    assert ran.status == 1
    window.open(pathlib.Path("page.html").absolute().as_uri())
    assert window.problems == []
    assert len(visible(window, ".finding")) == 2
    assert f"src{os.sep}model.py:7:22" in visible(window, ".place")[0].replace("/", os.sep)
