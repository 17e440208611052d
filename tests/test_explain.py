"""`--explain FILE:LINE`: what is known of a call, from where, and what every rule makes of it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("project")

CALL = """\
import torch
from fla.ops.kda import chunk_kda


def inner(q, g, beta, cu, **more):
    return chunk_kda(q, q, q, g, beta, cu_seqlens=cu, **more)


def outer(g, beta, rows: int):
    q = torch.randn(2, rows, 8, 64, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
    return inner(q, g, beta, torch.tensor([0, 2, 3], device="cuda"), scale=0.5)
"""


def verdicts(text: str) -> dict[str, str]:
    """Code -> verdict, with what follows it."""
    lines = " ".join(text.split("    not passed")[-1].split())
    found: dict[str, str] = {}
    for part in lines.replace(" KDA", "\nKDA").replace(" hold:", "\nhold:").splitlines():
        code, _, rest = part.partition(" ")
        if rest.strip(",") and code.startswith("KDA"):
            found[code] = rest
    for word in ("hold: ", "nothing to say of this call: "):
        if word in text:
            listed = text.partition(word)[2].partition(":")[0]
            found |= {c.strip(","): word[:4] for c in listed.split() if c.startswith("KDA")}
    return found


def test_arguments_with_what_is_known_and_from_where(kdacheck, write):
    write("model.py", CALL)
    ran = kdacheck("--explain", "model.py:11")
    assert ran.status == 0
    assert ran.out.startswith("model.py:6:12: fla.ops.kda.chunk_kda\n")
    assert "as `inner` is called at model.py:11\n" in ran.out
    assert "release   fla-core 0.6.0, " in ran.out
    lines = [line.strip() for line in ran.out.splitlines()]
    at = lines.index("q: Float[Tensor, 'B T H K'] = q")
    assert lines[at + 1].startswith("[2, 8, rows, 64], ")
    assert lines[at + 1].endswith("bfloat16, on cuda")
    assert "shape, layout: transpose, line 10" in lines
    assert "dtype, device: randn, line 10" in lines
    assert lines[lines.index("g: Float[Tensor, 'B T HV K'] = g") + 1] == "nothing is known"
    assert lines[lines.index("scale: float | None = more") + 1] == "0.5"
    assert any(line.endswith("int64, on cuda, holds [0, 2, 3]") for line in lines)


def test_every_rule_has_a_verdict(kdacheck, write):
    from kdacheck.rules import catalogue

    write("model.py", CALL)
    ran = kdacheck("--explain", "model.py:11")
    found = verdicts(ran.out)
    assert "broken: `q` has batch size 2" in found["KDA001"]
    assert "unknown: the shape of `g`, `beta`" in found["KDA104"]
    assert "unknown: the dtype of `g`, `beta`" in found["KDA205"]
    assert found["KDA302"] == "hold"
    assert found["KDA101"] == "noth", "the callee copies"
    for rule in catalogue():
        if rule.check is not None:
            assert ran.out.count(rule.code) == 1


def test_a_call_of_which_little_is_known(kdacheck, write):
    write("model.py", CALL)
    ran = kdacheck("--explain", "model.py:6")
    assert ran.status == 0
    own = ran.out.split("model.py:6:12:")[1]
    assert "perhaps passed by an unknown * or **" in own
    assert "broken" not in own
    assert "unknown: the shape of `q`" in " ".join(own.partition("KDA001")[2].split())
    assert "unknown: the contents of `cu_seqlens`" in own
    assert "as `inner` is called at model.py:11" in ran.out, "how it is called is shown as well"


def test_where_the_release_comes_from(kdacheck, write):
    write("requirements.txt", "fla-core==0.5.1\n")
    write("model.py", CALL)
    out = kdacheck("--explain", "model.py:6").out
    assert "release   fla-core 0.5.1, pinned in requirements.txt\n" in out


def test_a_line_without_a_call_names_those_that_have_one(kdacheck, write):
    write("model.py", CALL)
    ran = kdacheck("--explain", "model.py:1")
    assert (ran.status, ran.out) == (2, "")
    assert "no call of a known kernel on line 1, there are some on lines 6, 11" in ran.err
    write("plain.py", "x = 1\n")
    assert "nor elsewhere in it" in kdacheck("--explain", "plain.py:1").err


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("model.py", "takes FILE:LINE"),
        ("model.py:x", "takes FILE:LINE"),
        ("gone.py:1", "gone.py: No such file"),
        ("broken.py:1", "broken.py:3: the file cannot be parsed"),
    ],
)
def test_what_cannot_be_explained_is_status_2(kdacheck, write, place, why):
    write("model.py", CALL)
    write("broken.py", "from fla.ops.kda import chunk_kda\nchunk_kda(\n(\n")
    ran = kdacheck("--explain", place)
    assert ran.status == 2
    assert why in ran.err


def test_every_example_can_be_explained():
    from kdacheck.rules import catalogue
    from kdacheck.source.explain import explain

    for rule in catalogue():
        for text in rule.wrong if rule.check is not None else ():
            lines = explain("example.py", text.encode(), 0, {}).lines
            told = [explain("example.py", text.encode(), line, {}).text for line in lines]
            assert f"{rule.code} {rule.name}" in "".join(told)
            assert "broken: " in "".join(told)
