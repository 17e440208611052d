"""The site of the documentation: built without a warning, whole without a network, and shown by a real browser."""

from __future__ import annotations

import html.parser
import os
import pathlib
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import Browser, Page, browser, executable
from tests.built import once

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> pathlib.Path:
    """A folder with the site; what is wrong in a page, a link or an anchor makes it fail."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")

    def make(folder: pathlib.Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
            cwd=ROOT,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stderr

    return once(tmp_path_factory, "site", make)


class Links(html.parser.HTMLParser):
    """What a page links, what it loads, and what in it can be linked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.linked: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        self.anchors |= {held[name] for name in ("id", "name") if name in held}
        if tag in ("a", "area"):
            self.linked.add(held.get("href", ""))
        elif "href" in held and held.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.add(held["href"])
        if "src" in held:
            self.loaded.add(held["src"])


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site):
    pages = {path: Links(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    assert len(pages) > 50
    wrong = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # its links are absolute, for a server
        for link in page.linked | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    wrong.append(f"{path.name} loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                wrong.append(f"{path.relative_to(site)}: no {link}")
            elif parts.fragment and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: nothing at {link}")
    assert wrong == []
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text("utf-8")), path


def test_a_link_to_nowhere_is_an_error(tmp_path):
    """What the settings of the site say of links is what makes `--strict` fail."""
    pytest.importorskip("material")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[0]
    settings = settings.replace("hooks: [", f"hooks: [{ROOT}/")
    (tmp_path / "mkdocs.yml").write_text(settings)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "README.md"
    for link, told in {"gone.md": "gone.md", "README.md#gone": "#gone", "#gone": "#gone"}.items():
        page.write_text(f"# A\n\n[b]({link})\n")
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert told in done.stderr


def test_no_page_shows_its_own_markup(site):
    """A list or a table that begins where Markdown does not expect one stays text."""
    for path in site.rglob("*.html"):
        text = re.sub(r"<pre.*?</pre>", "", path.read_text("utf-8"), flags=re.DOTALL)
        assert not re.search(r"^(<p>)?(\* |\||```|#+ )", text, re.MULTILINE), path.name


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[Browser]:
    command = executable()
    if command is None:
        pytest.skip("no Chromium on this machine")
    with browser(command, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def page(chromium) -> Page:
    """A page of a wide window, as most readers have it."""
    page = chromium.page
    page.requests.clear()
    page.problems.clear()
    page.resize(1400, 1000)
    return page


#: In the window, and not covered: what a person sees of an element.
SEEN = """(() => {
  const box = document.querySelector(SELECTOR).getBoundingClientRect();
  const [x, y] = [box.left + Math.min(box.width, 20) / 2, box.top + box.height / 2];
  const top = document.elementFromPoint(x, y);
  return box.width > 0 && box.height > 0 && !!top && document.querySelector(SELECTOR).contains(top);
})()"""


def sees(page: Page, selector: str) -> bool:
    return page.evaluate(SEEN.replace("SELECTOR", repr(selector)))


def shows(page: Page, path: pathlib.Path, screenshots: pathlib.Path) -> None:
    """Open a page from its folder: all of it is there, and a picture of it is more than one colour."""
    page.open(path.as_uri())
    assert sees(page, "h1")
    assert sees(page, ".md-header")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.problems == []
    assert all(address.startswith("file:") for address in page.requests)
    picture = screenshots / f"{path.stem}.png"
    page.screenshot(picture)
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1400, 1000)
    assert len(data) > 20_000


def test_the_first_page_shows_both_mistakes_caught_twice(site, page, tmp_path):
    shows(page, site / "index.html", tmp_path)
    text = page.evaluate("document.querySelector('article').innerText")
    for code in ("KDA001 unflattened-batch", "KDA101 strided-dt-bias", "KDA102 dt-bias-rank"):
        assert text.count(f"{code}: `") == 2, code
    assert text.count("kdacheck.ContractError: ") == 2
    assert page.evaluate("document.querySelectorAll('article .highlight').length") == 6


def test_a_rule_is_reached_by_search_from_a_folder(site, page, tmp_path):
    shows(page, site / "rules" / "strided-dt-bias.html", tmp_path)
    headings = page.evaluate("[...document.querySelectorAll('article h2')].map(h => h.innerText)")
    assert [heading.strip("¶ \n") for heading in headings] == [
        "The law",
        "Why",
        "Wrong",
        "Right",
        "Remedy",
        "How it is seen",
        "Where it applies",
        "To allow it",
    ]
    page.evaluate("document.querySelector('[for=__search]').click()")
    page.wait_for("document.activeElement.matches('.md-search__input')")
    page.type(".md-search__input", "mask-with-cu-seqlens")
    page.wait_for("document.querySelector('.md-search-result__link')")
    results = page.evaluate(
        "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    )
    assert any("rules/mask-with-cu-seqlens.html" in address for address in results)
    page.screenshot(tmp_path / "search.png")
    assert page.problems == []


def test_the_contracts_are_filtered_by_what_is_typed(site, page, tmp_path):
    shows(page, site / "catalogue" / "index.html", tmp_path)
    rows = "[...document.querySelectorAll('.filter tbody tr')].filter(r => r.offsetHeight > 0)"
    every = page.evaluate(f"{rows}.length")
    assert every > 100
    page.type(".filter input", "SGLang replayssm")
    assert 0 < page.evaluate(f"{rows}.length") < 10
    assert page.evaluate(f"{rows}.every(r => /replayssm/i.test(r.innerText))")
    assert page.evaluate("document.querySelector('.filter output').innerText").endswith(
        f" of {every}"
    )
    page.evaluate("document.querySelector('.filter').scrollIntoView()")
    page.screenshot(tmp_path / "filtered.png")
    page.click(f"{rows}[0].querySelector('a')")
    page.wait_for("location.hash.length > 1 && document.querySelector(':target')")
    assert "replayssm" in page.evaluate("document.querySelector(':target').innerText")
    assert page.problems == []


def test_a_link_out_of_the_site_leads_to_the_repository(site):
    links = Links((site / "limits.html").read_text("utf-8")).linked
    out = {link for link in links if "/blob/main/" in link}
    assert out
    for link in out:
        assert (ROOT / link.partition("/blob/main/")[2]).exists(), link
