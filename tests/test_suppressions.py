"""Comments that allow a finding, and comments that allow nothing."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("project")

HEAD = """\
import torch
from fla.ops.kda import chunk_kda


def run(g, beta):
    cu = torch.tensor([0, 100, 256])
    q = torch.randn(256, 8, 64).reshape({batch}, -1, 8, 64)
"""
ROWS = HEAD.count("\n")


@pytest.fixture
def codes(kdacheck, write):
    """The codes found in a function body, with their rows counted from the body's first line."""

    def codes(body: str, *arguments: str, batch: int = 2) -> list[tuple[str, int]]:
        write("model.py", HEAD.format(batch=batch) + body)
        ran = kdacheck("--output-format", "json", *arguments)
        findings = json.loads(ran.out)
        assert ran.status == bool(findings)
        return [(finding["code"], finding["location"]["row"] - ROWS) for finding in findings]

    return codes


CALL = "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu)"


@pytest.mark.parametrize(
    "comment",
    [
        "# kdacheck: ignore[KDA001]",
        "# kdacheck: ignore[unflattened-batch]",
        "# kdacheck: ignore",
        "#kdacheck:ignore [ KDA001 ]",
        "# the test wants it  # kdacheck: ignore[KDA001]",
        "# type: ignore  # kdacheck: ignore[KDA001] as the kernel refuses it",
        "# noqa: KDA001",
        "# noqa",
        "# NOQA: E501, KDA001",
        "# noqa: E501 KDA001",
        "# noqa:KDA001",
        "# noqa: KDA0",
    ],
)
def test_a_comment_allows_the_finding(codes, comment):
    assert codes(CALL) == [("KDA001", 1)]
    assert codes(f"{CALL}  {comment}") == []


@pytest.mark.parametrize(
    "comment", ["# noqa: E501", "# kdacheck: ignored", "# kdacheck", "# noqashi"]
)
def test_other_comments_do_not(codes, comment):
    assert codes(f"{CALL}  {comment}") == [("KDA001", 1)]


def test_a_text_that_looks_like_a_comment_is_none(codes):
    body = "    chunk_kda(q, q, q, g, '# kdacheck: ignore', cu_seqlens=cu)"
    assert ("KDA001", 1) in codes(body)


@pytest.mark.parametrize("row", range(7))
def test_any_line_of_the_call_will_do(codes, row):
    lines = ["    x = chunk_kda(", "q,", "q,", "q, g,", "beta,", "cu_seqlens=cu,", ")"]
    lines[row] += "  # kdacheck: ignore[KDA001]"
    assert codes("\n".join(lines)) == []


def test_the_line_above_is_not_of_the_call(codes):
    body = f"    # kdacheck: ignore[KDA001]\n{CALL}"
    assert codes(body) == [("KDA900", 1), ("KDA001", 2)]


def test_an_unused_comment_is_reported_where_it_stands(kdacheck, write):
    write("model.py", HEAD.format(batch=1) + CALL + "  # kdacheck: ignore[KDA001]\n")
    finding = json.loads(kdacheck("--output-format", "json").out)[0]
    assert finding["code"] == "KDA900"
    assert finding["name"] == "unused-suppression"
    assert finding["location"] == {"row": ROWS + 1, "column": len(CALL) + 3}
    assert finding["end_location"] == {"row": ROWS + 1, "column": len(CALL) + 29}
    assert "no KDA001 here" in finding["message"]


def test_unused_codes_among_used_ones(codes):
    assert codes(f"{CALL}  # kdacheck: ignore[KDA001, KDA101]") == [("KDA900", 1)]
    assert codes(f"{CALL}  # kdacheck: ignore[KDA001]  # kdacheck: ignore[KDA101]") == [
        ("KDA900", 1)
    ]


def test_unused_bare_and_empty_and_broken_comments(codes):
    assert codes("    x = 1  # kdacheck: ignore", batch=1) == [("KDA900", 1)]
    assert codes(f"{CALL}  # kdacheck: ignore[]") == [("KDA001", 1), ("KDA900", 1)]
    assert codes(f"{CALL}  # kdacheck: ignore[KDA001") == [("KDA001", 1), ("KDA900", 1)]


def test_unknown_codes(kdacheck, write):
    write("model.py", HEAD.format(batch=2) + CALL + "  # kdacheck: ignore[KDA001, KDA777, E501]\n")
    ran = kdacheck("--output-format", "concise")
    assert ran.out.count("KDA900") == 1
    assert "KDA900 [*] there is no rule KDA777 or E501" in ran.out


def test_an_unused_noqa_is_none_of_our_business(codes):
    assert codes("    x = 1  # noqa: KDA001", batch=1) == []


def test_a_rule_that_is_off_is_not_called_unused(codes):
    line = f"{CALL}  # kdacheck: ignore[KDA001]"
    assert codes(line, "--select", "KDA1,KDA900", batch=1) == []
    assert codes(line, "--ignore", "KDA001", batch=1) == []
    assert codes(line, "--per-file-ignores", "model.py:KDA001", batch=1) == []
    assert codes(line, "--ignore", "KDA001", batch=2) == []
    assert codes(line, "--select", "KDA0,KDA900", batch=1) == [("KDA900", 1)]


def test_unused_suppressions_can_be_left_out(codes):
    line = f"{CALL}  # kdacheck: ignore[KDA001]"
    assert codes(line, "--ignore", "KDA900", batch=1) == []
    assert codes(line, "--ignore", "unused-suppression", batch=1) == []
    assert codes(f"{CALL}  # kdacheck: ignore[KDA001, KDA900]", batch=1) == []


def test_a_file_without_kernels_is_left_alone(kdacheck, write):
    write("model.py", "def broken(:  # kdacheck: ignore[KDA001]\n")
    assert kdacheck().status == 0


def test_a_file_that_cannot_be_parsed_is_reported_all_the_same(codes):
    body = "    chunk_kda(q, q, q, g, beta, cu_seqlens=cu  # kdacheck: ignore"
    assert [code for code, _ in codes(body)] == ["KDA901"]
