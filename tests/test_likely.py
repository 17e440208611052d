"""Findings that are only likely: on request, marked, never fixed."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("project")

LIKELY = """\
import torch
from fla.ops.kda import chunk_kda


def run(q, k, v, g, beta, lens: torch.Tensor):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=lens.cumsum(0))
"""


def test_they_are_left_out_unless_asked_for(kdacheck, write):
    write("model.py", LIKELY)
    assert kdacheck("model.py").status == 0
    ran = kdacheck("model.py", "--likely", "--output-format", "concise")
    assert ran.status == 1
    assert "model.py:6:51: KDA302 (likely) " in ran.out
    assert kdacheck("--likely", "--ignore", "KDA302").status == 0


def test_a_project_may_ask_for_them(kdacheck, write):
    write("model.py", LIKELY)
    write("pyproject.toml", "[tool.kdacheck]\nlikely = true\n")
    assert kdacheck("model.py").status == 1
    write("pyproject.toml", "[tool.kdacheck]\nlikely = 1\n")
    assert "`tool.kdacheck.likely` must be true or false" in kdacheck("model.py").err


def test_every_format_marks_them(kdacheck, write):
    write("model.py", LIKELY)
    out = {
        form: kdacheck("--likely", "--output-format", form).out
        for form in ("full", "concise", "json", "github", "sarif")
    }
    assert out["full"].startswith("KDA302 (likely) cu-seqlens-without-zero: ")
    assert "KDA302 (likely) " in out["concise"]
    assert json.loads(out["json"])[0]["likely"] is True
    assert out["github"].startswith("::warning ")
    assert "KDA302 (likely) " in out["github"]
    (result,) = json.loads(out["sarif"])["runs"][0]["results"]
    assert (result["level"], result["properties"]["likely"]) == ("warning", True)


def test_they_are_never_fixed(kdacheck, write):
    path = write("model.py", LIKELY)
    assert kdacheck("--likely", "--fix", "--unsafe-fixes").status == 1
    assert path.read_text("utf-8") == LIKELY


def test_a_comment_may_allow_them(kdacheck, write):
    write("model.py", LIKELY.replace("(0))", "(0))  # kdacheck: ignore[KDA302]"))
    assert kdacheck("--likely").status == 0
    assert kdacheck().status == 0, "the comment is not unused because nobody asked"


def test_what_is_certain_is_not_marked(kdacheck, write):
    text = LIKELY.replace("lens: torch.Tensor", "").replace("lens.", "torch.tensor([3, 4]).")
    write("model.py", text)
    ran = kdacheck("--likely", "--output-format", "concise")
    assert "KDA302 `chunk_kda`" in ran.out
    assert "(likely)" not in ran.out


def test_a_certain_finding_is_told_where_the_call_is_likely_wrong_too(kdacheck, write):
    text = (
        LIKELY
        + """

def main(q, k, v, g, beta):
    run(q, k, v, g, beta, torch.tensor([3, 4]))
"""
    )
    write("model.py", text)
    ran = kdacheck("--output-format", "concise")
    assert "model.py:10:5: KDA302 `chunk_kda`" in ran.out
