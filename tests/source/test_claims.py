"""Shapes in names and docstrings: believed where the project says so, and only there."""

from __future__ import annotations

import json

import pytest

from kdacheck.conventions import Conventions
from kdacheck.source import examine

HEAD = "import torch\nfrom fla.ops.kda import chunk_kda\n\n"


def codes(text: str, **conventions: bool) -> list[str]:
    found = examine(
        "model.py", (HEAD + text).encode(), {}, conventions=Conventions(**conventions)
    ).findings
    return [finding.code for finding in found if not finding.likely]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(q_BHTK, k, v, g, beta):\n    chunk_kda(q_BHTK, k, v, g, beta)\n", ["KDA202"]),
        ("def f(q, k, v, g_BTH, beta):\n    chunk_kda(q, k, v, g_BTH, beta)\n", ["KDA104"]),
        ("def f(q, k, v, g_BTHvK, beta):\n    chunk_kda(q, k, v, g_BTHvK, beta)\n", []),
        ("def f(x, g, beta):\n    q_TD = x()\n    chunk_kda(q_TD, x, x, g, beta)\n", ["KDA204"]),
        ("def f(x, g, beta):\n    q_TD, y = x()\n    chunk_kda(q_TD, x, x, g, beta)\n", ["KDA204"]),
        ("def f(x, g, beta):\n    x.q_TD = x()\n    chunk_kda(x.q_TD, x, x, g, beta)\n", []),
        ("def f(Q_TD, MAX_LEN, g, beta):\n    chunk_kda(Q_TD, MAX_LEN, MAX_LEN, g, beta)\n", []),
        ("def f(k, g, beta, q_TD=None):\n    chunk_kda(q_TD, k, k, g, beta)\n", []),
        (
            "def f(k, g, beta):\n    q_TD = torch.randn(1, 8, 4, 16)\n    chunk_kda(q_TD, k, k, g, beta)\n",
            [],
        ),
        (
            "def f(x, g, beta):\n    if x:\n        q_TD = x()\n    else:\n        q_TD = torch.zeros(1, 8, 4, 16)\n"
            "    chunk_kda(q_TD, x, x, g, beta)\n",
            [],
        ),
    ],
)
def test_names_that_end_in_axes(text: str, expected: list[str]) -> None:
    assert codes(text, suffix_shapes=True) == expected
    assert codes(text) == []
    assert codes(text, docstring_shapes=True) == []


def documented(entry: str, signature: str = "q, k, v, g, beta") -> str:
    return (
        f'def f({signature}):\n    r"""Do it.\n\n    Args:\n{entry}\n    """\n'
        "    return chunk_kda(q, k, v, g, beta)\n"
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("        q (torch.Tensor):\n            queries of shape `[B, H, T, K]`.", ["KDA202"]),
        ("        g (torch.Tensor): decays of shape `[B, T, HV]`.", ["KDA104"]),
        ("        beta: has shape (B, T)", ["KDA104"]),
        ("        q (torch.Tensor):\n            queries of shape `[B, T, H, K]`.", []),
        ("        q (Optional[torch.Tensor]): of shape `[B, T]`.", []),
        ("        q (torch.Tensor): of shape `[B, T]` or of shape `[T]`.", []),
        ("        q (torch.Tensor): of shape `[B, T, 2 * H]`.", []),
        ("        x (torch.Tensor): of shape `[B, T]`.", []),
        ("        q (torch.Tensor): queries.\n    Returns:\n        o: of shape `[B, T]`.", []),
    ],
)
def test_shapes_in_docstrings(entry: str, expected: list[str]) -> None:
    assert codes(documented(entry), docstring_shapes=True) == expected
    assert codes(documented(entry)) == []
    assert codes(documented(entry), suffix_shapes=True) == []


def test_what_is_shown_goes_before_what_is_said() -> None:
    annotated = documented(
        "        q: of shape `[B, T]`.", 'q: Float[Tensor, "B T H K"], k, v, g, beta'
    )
    assert codes(annotated, docstring_shapes=True) == []
    text = documented("        q (torch.Tensor): of shape `[B, T]`.").replace("def f", "def _f")
    call = "q = torch.randn(1, 8, 4, 16)\n_f(q, q, q, q, q[..., 0])\n"
    findings = examine(
        "model.py",
        (HEAD + text + call).encode(),
        {},
        conventions=Conventions(docstring_shapes=True),
    ).findings
    assert [f.location.row for f in findings] == [10], "in the function alone, not at its call"


def test_a_project_switches_them_on(kdacheck, write) -> None:
    write(
        "model.py", HEAD + "def f(q_BHTK, k, v, g, beta):\n    chunk_kda(q_BHTK, k, v, g, beta)\n"
    )
    assert kdacheck("--no-cache").status == 0
    assert kdacheck().status == 0
    write("pyproject.toml", "[tool.kdacheck]\nsuffix-shapes = true\n")
    ran = kdacheck("--output-format", "json")
    (finding,) = json.loads(ran.out)
    assert finding["code"] == "KDA202"
    assert "its name" in finding["origins"][0]["message"]
    write("pyproject.toml", "[tool.kdacheck]\ndocstring-shapes = 1\n")
    assert kdacheck().status == 2
