"""Pages that are written from the code: fresh, repaired when stale, and right about what they say."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

from kdacheck.contracts import catalogue as contracts
from kdacheck.contracts import paths
from kdacheck.contracts.model import label
from kdacheck.docs import main
from kdacheck.docs.text import anchor
from kdacheck.rules import catalogue as rules
from kdacheck.rules._reach import applies

ROOT = pathlib.Path(__file__).parents[1]


def test_pages_are_fresh(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_pages_are_written_and_compared(tmp_path, capsys):
    shown = "<!-- output of: kdacheck examples/wrong/prefill.py -->\n```\n"
    code = "<!-- text of: examples/wrong/keywords.py -->\n```python\n"
    readme = tmp_path / "README.md"
    readme.write_text(f"# A\n{shown}old\n```\nB\n{code}```\nC\n")
    site = tmp_path / "mkdocs.yml"
    site.write_text(
        "nav:\n    # rules: written\n    # end\n    # catalogue: written\n    - old: x.md\n    # end\n  - Z: z.md\n"
    )
    folder = tmp_path / "docs" / "rules"
    folder.mkdir(parents=True)
    (folder / "gone-rule.md").write_text("x")
    by_hand = tmp_path / "docs" / "by-hand.md"
    by_hand.write_text("stays\n")

    places = ["--root", str(tmp_path)]
    assert main(["--check", *places]) == 1
    told = capsys.readouterr().err
    for stale in ("gone-rule.md", "README.md", "mkdocs.yml", "fla-core.md"):
        assert f"{stale}: stale" in told
    assert "by-hand.md" not in told
    assert main(places) == 0
    assert main(["--check", *places]) == 0

    assert not (folder / "gone-rule.md").exists()
    assert by_hand.read_text() == "stays\n"
    page = (folder / "unflattened-batch.md").read_text("utf-8")
    assert page.startswith("# unflattened-batch (KDA001)\n")
    assert "example.py:6:22: KDA001 `chunk_kda` (fla-core 0.6.0): `q` has batch size 2" in page
    assert "[KDA001](unflattened-batch.md)" in (folder / "README.md").read_text("utf-8")
    text = readme.read_text("utf-8")
    assert text.startswith(f"# A\n{shown}KDA001 unflattened-batch: ")
    assert text.endswith("g, beta, cu_seqlen=cu_seqlens)\n```\nC\n")
    assert "    - KDA001 unflattened-batch: rules/unflattened-batch.md\n" in site.read_text()
    assert site.read_text().count(": written\n") == site.read_text().count("# end\n") == 2
    assert site.read_text().endswith("    - vllm: catalogue/vllm.md\n    # end\n  - Z: z.md\n")


def test_a_command_that_fails_is_told(tmp_path):
    (tmp_path / "README.md").write_text("<!-- output of: kdacheck no/such/file.py -->\n```\n```\n")
    with pytest.raises(RuntimeError, match=r"no/such/file\.py"):
        main(["--check", "--root", str(tmp_path)])


def test_every_contract_has_its_section():
    sections: dict[str, list[str]] = {}
    for page in sorted((ROOT / "docs" / "catalogue").glob("*.md")):
        text = page.read_text("utf-8")
        headings = re.findall(r"^## .*$", text, re.MULTILINE)
        assert len({anchor(heading) for heading in headings}) == len(headings), page.name
        sections[page.stem] = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert sum(map(len, sections.values())) == len(contracts()) + 1
    for contract in contracts():
        releases = contract.versions.replace(">=", "from ").replace("<", "before ")
        named = f", {releases.replace(',', ', ') or 'any release'}"
        found = [
            section
            for section in sections[contract.package]
            if section.startswith(label(contract.paths[0]) + named)
            and all(f"`{path}`" in section for path in contract.paths)
            and all(parameter.name in section for parameter in contract.parameters)
        ]
        assert len(found) == 1, (contract.paths, contract.versions)


def test_a_rule_is_said_to_apply_where_it_is_found(kdacheck, monkeypatch, tmp_path):
    """Everything that is found in the rules' own examples is found at a callee that the page lists."""
    monkeypatch.chdir(tmp_path)
    for rule in rules():
        for number, text in enumerate((*rule.wrong, *rule.likely)):
            (tmp_path / f"{rule.name}_{number}.py".replace("-", "_")).write_text(text)
    ran = kdacheck("--likely", "--isolated", "--output-format", "json", ".")
    found = [finding for finding in json.loads(ran.out) if finding["callee"]]
    corpus = kdacheck("--likely", "--output-format", "json", str(ROOT / "tests" / "corpus"))
    found += [finding for finding in json.loads(corpus.out) if finding["callee"]]
    known = [finding for finding in found if finding["callee"] in paths()]
    assert len(known) > 100
    for finding in known:
        at = paths()[finding["callee"]]
        assert any(applies(finding["code"], contract) for contract in at), finding


def test_a_rule_is_not_said_to_apply_where_the_contract_is_silent():
    fla = next(c for c in contracts() if "fla.ops.kda.chunk_kda" in c.paths)
    assert applies("KDA001", fla)
    assert not applies("KDA101", fla), "FLA copies a strided bias"
    assert not applies("KDA404", fla), "FLA has no state pool"
    assert not any(applies(code, fla) for code in ("KDA900", "KDA901"))


@pytest.mark.parametrize("page", ["serving.md", "training.md"])
def test_the_blocks_of_a_guide_are_as_wrong_as_they_say(page, kdacheck, project):
    """A comment with a code stands on each line with a finding, and on no other."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 2
    for number, block in enumerate(blocks):
        wanted = [
            (code, row)
            for row, line in enumerate(block.splitlines(), 1)
            for code in re.findall(r"# (KDA\d+)$", line)
        ]
        (project / f"block_{number}.py").write_text(block)
        ran = kdacheck("--isolated", "--no-cache", "--output-format", "json", f"block_{number}.py")
        found = [(told["code"], told["location"]["row"]) for told in json.loads(ran.out)]
        assert found == wanted, block


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"]
)
def test_what_a_page_outside_of_the_site_links_is_there(page):
    text = (ROOT / page).read_text("utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / page).parent.joinpath(link).exists(), link
