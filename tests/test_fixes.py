"""Fixes: what is written, what is left alone, and that what is written is right when it runs."""

from __future__ import annotations

import ast
import itertools
import json
import os
import stat
from collections.abc import Callable
from typing import Any

import pytest

from kdacheck import fixes
from kdacheck.config import Configuration, Overrides
from kdacheck.finding import Edit, Finding, Fix, Position
from kdacheck.linter import Candidate as ToCheck
from kdacheck.linter import check, fix_text

pytestmark = pytest.mark.usefixtures("project")

GYM = "from attn_gym.linear.kda import chunk_kda\n"
FLA = "from fla.ops.kda import chunk_kda\n"
TRITON = "from sglang.kernels.ops.attention.fla.kda import chunk_kda\n"
STRIDED = f"""\
import torch
{TRITON}

def run(q, k, v, g, beta, pool, slots, A_log):
    bias = torch.zeros(512, 2)[:, 0]
    return chunk_kda(
        q,
        k,
        v,
        g,  # log decay
        beta,
        initial_state=pool,
        initial_state_indices=slots,
        A_log=A_log,
        dt_bias=bias,  # one column
    )
"""


def repaired(text: str | bytes, unsafe: bool = False) -> fixes.Fixed:
    """What fixing makes of a text."""
    data = text.encode() if isinstance(text, str) else text
    configuration = Configuration(Overrides(isolated=True))
    findings = check(ToCheck("model.py", data, configuration.of_folder("."))).findings
    return fix_text("model.py", data, findings, configuration, unsafe=unsafe)


def fixed(text: str, unsafe: bool = False) -> str:
    return repaired(text, unsafe).data.decode()


def changed(before: str, after: str) -> list[str]:
    """The lines of the second text that are not in the first."""
    known = before.splitlines()
    return [line.strip() for line in after.splitlines() if line not in known]


def one_call(imports: str, body: str, arguments: str) -> str:
    return (
        f"import torch\nimport torch.nn.functional as F\n{imports}\n\n"
        f"def run(q, k, v, g, beta, pool, slots):\n{body}    return chunk_kda({arguments})\n"
    )


def test_a_dense_copy_is_passed_and_the_rest_stays_as_it_was():
    assert fixed(STRIDED) == STRIDED.replace("=bias,  #", "=bias.contiguous(),  #")


def test_an_expression_that_is_no_name_gets_parentheses():
    text = one_call(
        "import flash_kda\n",
        "    cu = torch.arange(0, 50, 10)\n",
        "q, k, v, g, beta",
    ).replace(
        "return chunk_kda(q, k, v, g, beta)",
        "flash_kda.fwd(q, k, v, g, beta, 0.1, torch.empty(1), pool, slots, -5.0, cu_seqlens=(cu)[::2])",
    )
    assert "cu_seqlens=(cu)[::2].contiguous())" in fixed(text)


def test_what_a_kernel_writes_is_never_copied():
    text = """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run(a, b, A_log, dt_bias, slots):
    pool = torch.zeros(16, 8, 128, 256)[..., ::2]
    out = torch.empty(4, 2, 8, 128)[:, :1]
    helion_fused_recurrent_kda_packed_decode(
        torch.randn(4, 3 * 1024), a, b, A_log, dt_bias, 0.088, pool, out, slots
    )
"""
    done = repaired(text, unsafe=True)
    assert done.data.decode() == text
    assert {finding.parameter for finding in done.findings} >= {"out"}
    assert not any(finding.fix for finding in done.findings if finding.code == "KDA201")


def test_an_argument_that_may_be_none_elsewhere_is_left_alone():
    text = f"""\
import torch
{TRITON}

def run(q, k, v, g, beta, pool, slots, A_log):
    for bias in (torch.zeros(512, 2)[:, 0], None):
        chunk_kda(q, k, v, g, beta, initial_state=pool, initial_state_indices=slots, A_log=A_log, dt_bias=bias)
"""
    assert fixed(text) == text


@pytest.mark.parametrize(
    ("body", "passed", "line"),
    [
        (
            "",
            "F.pad(slots.cumsum(0), (1, 0))",
            "F.pad(slots.cumsum(0, dtype=torch.int32), (1, 0))",
        ),
        ("", "F.pad(torch.cumsum(slots, dim=0,), (1, 0))", "dim=0, dtype=torch.int32,)"),
        (
            "    cu = F.pad(slots.cumsum(0), (1, 0))\n",
            "cu",
            "cu = F.pad(slots.cumsum(0, dtype=torch.int32), (1, 0))",
        ),
        ("    cu = torch.arange(4)\n", "cu", "cu_seqlens=cu.to(torch.int32))"),
        (
            "    cu = F.pad(slots.cumsum(0), (1, 0))\n    print(cu)\n",
            "cu",
            "cu_seqlens=cu.to(torch.int32))",
        ),
        (
            "    cu = F.pad(slots.cumsum(0, dtype=torch.int64), (1, 0))\n",
            "cu",
            "cu_seqlens=cu.to(torch.int32))",
        ),
    ],
)
def test_offsets_get_the_dtype_that_is_wanted(body: str, passed: str, line: str):
    text = one_call(
        GYM, "    slots = torch.tensor([3, 4])\n" + body, f"q, k, v, g, beta, cu_seqlens={passed}"
    )
    after = fixed(text)
    (new,) = changed(text, after)
    assert line in new
    assert not repaired(after).findings


def test_a_cast_needs_no_name_that_is_not_there():
    text = (
        "from torch import arange\n"
        + GYM
        + (
            "\ndef run(q, k, v, g, beta):\n"
            "    return chunk_kda(q, k, v, g, beta, cu_seqlens=arange(4))\n"
        )
    )
    assert "cu_seqlens=arange(4).int())" in fixed(text)


DROPPED = """\
import torch
from fla.modules.convolution import causal_conv1d
from fla.ops.kda import chunk_kda


def run(weight, g, beta):
    x = torch.randn(1, 128, 256)
    bounds = torch.tensor([0, 60, 128])
    y, _ = causal_conv1d(x, weight, activation="silu", cu_seqlens=bounds)
    y = y.unflatten(-1, (4, 64))
    o, _ = chunk_kda(
        y,
        y,
        y,
        g,
        beta,{}
    )
    return o
"""


@pytest.mark.parametrize("comment", ["", "  # write strength"])
def test_boundaries_are_passed_on_a_line_of_their_own(comment: str):
    text = DROPPED.format(comment)
    assert changed(text, fixed(text)) == ["cu_seqlens=bounds,"]
    without = text.replace("beta," + comment, "beta" + comment)
    assert fixed(without) == fixed(text)


def test_boundaries_that_are_no_longer_at_hand_are_not_passed():
    text = DROPPED.format("").replace("    o, _ =", "    bounds = None\n    o, _ =")
    assert fixed(text) == text


def test_a_none_in_the_place_of_boundaries_is_replaced():
    text = DROPPED.format(" cu_seqlens=None,")
    assert "beta, cu_seqlens=bounds," in fixed(text)


UNFLAT = """\
import torch
{imports}from fla.ops.kda import chunk_kda


def run(self, g, beta):
    q = torch.randn(2, 128, 8, 64)
    v = torch.randn(1, 256, 8, 64)
    return chunk_kda(q, q.float(), v, self.g, beta, cu_seqlens=torch.tensor([0, 100, 256]))
"""


def test_every_operand_that_is_not_known_to_be_flat_is_flattened():
    text = UNFLAT.format(imports="")
    assert fixed(text) == text, "not without --unsafe-fixes"
    (line,) = changed(text, fixed(text, unsafe=True))
    assert line == (
        "return chunk_kda(q.reshape(1, -1, *q.shape[2:]), q.float().flatten(0, 1).unsqueeze(0), v, "
        "self.g.reshape(1, -1, *self.g.shape[2:]), beta.reshape(1, -1, *beta.shape[2:]), "
        "cu_seqlens=torch.tensor([0, 100, 256]))"
    )


def test_a_file_that_uses_einops_is_flattened_by_einops():
    text = UNFLAT.format(imports="from einops import rearrange\n")
    (line,) = changed(text, fixed(text, unsafe=True))
    assert 'chunk_kda(rearrange(q, "b t ... -> 1 (b t) ..."), rearrange(q.float(), "b t' in line


def test_an_expand_that_gave_the_wrong_rank_is_dropped():
    text = """\
import torch
from sglang.kernels.ops.attention.helion.kda_decode import helion_fused_recurrent_kda_packed_decode

def run(a, b, pool, slots):
    rows, heads, dim = 4, 8, 128
    out = torch.empty(rows, 1, heads, dim)
    bias = torch.zeros(heads * dim)
    bias = bias.expand(rows, heads * dim)
    helion_fused_recurrent_kda_packed_decode(
        torch.randn(rows, 3 * heads * dim), a, b, torch.zeros(heads), bias, 0.088, pool, out, slots
    )
"""
    done = repaired(text, unsafe=True)
    assert changed(text, done.data.decode()) == ["bias = bias"]
    assert done.findings == []


def test_a_misspelt_keyword_is_renamed_on_request_only():
    text = one_call(FLA, "", "q, k, v, g, beta, cu_seqlen=slots")
    assert fixed(text) == text
    assert "cu_seqlens=slots" in fixed(text, unsafe=True)


def test_several_fixes_in_one_file_compose():
    text = (
        STRIDED
        + DROPPED.format("").partition("\n\n\n")[2].replace("chunk_kda(", "fla(")
        + (
            "\n\n# kdacheck: ignore[KDA101]\nTHREE = 3  # kdacheck: ignore[KDA102] because of the paper\n"
        )
    )
    text = text.replace(
        TRITON,
        TRITON + "from fla.ops.kda import chunk_kda as fla\n"
        "from fla.modules.convolution import causal_conv1d\n",
    )
    done = repaired(text)
    assert sorted(f.code for f in done.fixed) == ["KDA003", "KDA101", "KDA900", "KDA900"]
    assert done.findings == []
    assert done.data.decode().endswith("\n\nTHREE = 3  # because of the paper\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # kdacheck: ignore[KDA101]\n", "x = 1\n"),
        ("x = 1  # kdacheck: ignore\n", "x = 1\n"),
        ("x = 1  # kdacheck: ignore[KDA101]  # noqa: E501\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # type: ignore  # kdacheck: ignore[KDA101]\n", "x = 1  # type: ignore\n"),
        ("# kdacheck: ignore[KDA101]", ""),
        ("x = 1\r\n# kdacheck: ignore[KDA101]\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("x = (\n    1,  # kdacheck: ignore[KDA101]\n)\n", "x = (\n    1,\n)\n"),
    ],
)
def test_a_suppression_of_nothing_is_removed(before: str, after: str):
    assert repaired(before.encode()).data == after.encode()


def test_only_what_suppresses_nothing_is_taken_out_of_the_brackets():
    text = STRIDED.replace("# one column", "# kdacheck: ignore[KDA001, KDA101,KDA105]")
    assert "bias,  # kdacheck: ignore[KDA101]\n" in fixed(text)


def test_a_row_with_a_suppression_of_the_rule_is_not_changed():
    text = one_call(
        GYM,
        "    cu = F.pad(slots.cumsum(0), (1, 0))  # noqa: KDA304\n",
        "q, k, v, g, beta, cu_seqlens=cu",
    ).replace("    cu =", "    slots = torch.tensor([3, 4])\n    cu =")
    done = repaired(text)
    assert done.data.decode() == text
    assert [finding.code for finding in done.findings] == ["KDA304"]
    assert done.findings[0].fix is None


def _with(text: str, *edits: tuple[int, int, str]) -> Finding:
    changes = tuple(Edit(new, Position(1, start), Position(1, end)) for start, end, new in edits)
    place = Position(1, 1)
    return Finding("KDA101", "x", "m", "r", "a.py", place, place, fix=Fix("safe", "Do", changes))


@pytest.mark.parametrize(
    ("content", "found", "why"),
    [
        ("(", [], "could not be parsed"),
        ("y", ["KDA101"], "would still be wrong"),
        ("y", ["KDA102"], "KDA102 would be found instead"),
    ],
)
def test_a_fix_that_does_not_hold_is_not_applied_and_told(content, found, why):
    finding = _with("x = 1\n", (5, 6, content))
    place = Position(1, 1)

    def again(data: bytes) -> tuple[list[Finding], str | None]:
        return [Finding(code, "n", "m", "r", "a.py", place, place) for code in found], None

    done = fixes.fix(b"x = 1\n", [finding], again, unsafe=False)
    assert done.data == b"x = 1\n"
    assert done.fixed == []
    assert done.findings == [finding]
    ((refused, reason),) = done.refused
    assert refused is finding
    assert why in reason


def test_one_bad_fix_does_not_stop_the_others():
    good, bad = _with("x", (5, 6, "2")), _with("x", (1, 2, "("))
    good = Finding("KDA102", "x", "m", "r", "a.py", Position(1, 5), Position(1, 6), fix=good.fix)

    def again(data: bytes) -> tuple[list[Finding], str | None]:
        return ([bad] if b"2" in data else [good, bad]), None

    done = fixes.fix(b"x = 1\n", [good, bad], again, unsafe=False)
    assert done.data == b"x = 2\n"
    assert [refused for refused, _ in done.refused] == [bad]


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda text: text.encode("utf-8-sig"), id="byte order mark"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(
            lambda text: f"# coding: latin-1\nname = 'é'\n{text}".encode("latin-1"), id="latin-1"
        ),
        pytest.param(lambda text: text.rstrip("\n").encode(), id="no line break at the end"),
        pytest.param(lambda text: f"név = '字'; {text}".encode(), id="wide letters"),
    ],
)
def test_bytes_around_a_fix_stay_as_they_are(encode: Callable[[str], bytes], write, kdacheck):
    path = write("model.py", encode(STRIDED))
    assert kdacheck("--fix", "model.py").status == 0
    assert path.read_bytes() == encode(fixed(STRIDED))


def test_fixing_a_file(kdacheck, write):
    path = write("model.py", STRIDED)
    ran = kdacheck("model.py", "--output-format", "concise")
    assert ran.status == 1
    assert "model.py:16:17: KDA101 [*] " in ran.out
    assert ran.out.endswith("Found 1 finding (1 file checked).\n[*] 1 fixable with --fix.\n")
    ran = kdacheck("model.py", "--fix")
    assert ran.status == 0
    assert ran.out == "Found 1 finding (1 fixed, 0 remaining; 1 file checked).\n"
    assert kdacheck("model.py").out == "No broken call found (1 file checked).\n"
    assert path.read_text("utf-8") == fixed(STRIDED)
    assert os.listdir() == ["model.py"] or ".kdacheck_cache" in os.listdir()


def test_unsafe_fixes_are_counted_and_applied_on_request(kdacheck, write, wrong):
    path = write("model.py", wrong)
    ran = kdacheck("model.py", "--fix")
    assert ran.status == 1
    assert ran.out.endswith("[*] 1 fixable with --fix --unsafe-fixes.\n")
    assert "[*] unflattened" not in ran.out
    assert path.read_text("utf-8") == wrong
    assert "KDA001 [*] unflattened" in kdacheck("model.py", "--unsafe-fixes").out
    assert path.read_text("utf-8") == wrong
    assert kdacheck("model.py", "--fix", "--unsafe-fixes").status == 0
    assert path.read_text("utf-8") != wrong


def test_a_difference_is_shown_and_nothing_written(kdacheck, write):
    path = write("model.py", STRIDED)
    ran = kdacheck("--diff", "model.py")
    assert ran.status == 1
    assert ran.out.startswith("--- model.py\n+++ model.py\n@@ ")
    assert "\n-        dt_bias=bias,  # one column\n" in ran.out
    assert "\n+        dt_bias=bias.contiguous(),  # one column\n" in ran.out
    assert "would fix 1 finding" in ran.err
    assert path.read_text("utf-8") == STRIDED
    kdacheck("--fix", "model.py")
    ran = kdacheck("--diff", "model.py")
    assert (ran.status, ran.out) == (0, "")


WRAPPER = """\
from fla.modules.convolution import causal_conv1d
from fla.ops.kda import chunk_kda


def layer(x, weight, g, beta, cu, state):
    y, _ = causal_conv1d(x, weight, activation="silu", cu_seqlens=cu)
    y = y.unflatten(-1, (4, 64))
    o, _ = chunk_kda(y, y, y, g, beta, initial_state=state)
    return o


def other(x, weight, g, beta, cu):
    y, _ = causal_conv1d(x, weight, activation="silu", cu_seqlens=cu)
    y = y.unflatten(-1, (4, 64))
    return chunk_kda(y, y, y, g, beta)
"""
CALLER = """\
import torch
from layers import layer


def run(weight, g, beta):
    x = torch.randn(1, 128, 256)
    cu = torch.tensor([0, 60, 128])
    return layer(x, weight, g, beta, cu, torch.zeros({states}, 4, 64, 64))
"""


@pytest.mark.parametrize("name", ["layers", "zlayers"])
@pytest.mark.parametrize(("states", "applied", "before"), [(2, 2, 1), (1, 1, 0)])
def test_files_that_call_into_a_fixed_one_are_looked_at_again(
    kdacheck, write, name: str, states: int, applied: int, before: int
):
    """While the wrapper takes the tokens for one sequence, one state is right and two are wrong."""
    files, text = ("model.py", f"{name}.py"), CALLER.format(states=states).replace("layers", name)
    wrapper, caller = write(files[1], WRAPPER), write(files[0], text)
    ran = kdacheck(*files)
    assert ran.out.count("KDA003") == 2
    assert ran.out.count("KDA401") == before
    assert kdacheck("--diff", *files).out.count("\n+ ") == applied
    assert wrapper.read_text("utf-8") == WRAPPER

    ran = kdacheck("--fix", *files)
    assert f"({applied} fixed, {2 - applied} remaining; 2 files checked)" in ran.out
    assert wrapper.read_text("utf-8").count("cu_seqlens=cu") == 2 + applied
    assert caller.read_text("utf-8") == text
    refused = (
        f"{name}.py:8:12: the fix of KDA003 was not applied: KDA401 would be found at model.py:8"
    )
    assert (refused in ran.err) is (applied == 1)
    again = kdacheck("--no-cache", *files)
    assert again.status == ran.status
    assert again.out.count("KDA") == 2 - applied


def test_standard_input_is_fixed_to_standard_output(process, wrong):
    ran = process("-", "--fix", stdin=STRIDED.encode())
    assert (ran.status, ran.out) == (0, fixed(STRIDED))
    assert "1 fixed" in ran.err
    ran = process("-", "--fix", stdin=wrong.encode())
    assert (ran.status, ran.out) == (1, wrong)
    assert "KDA001" in ran.err
    assert process("-", "--fix", stdin=b"x = 1\n").out == "x = 1\n"


def test_json_tells_the_edits(kdacheck, write):
    write("model.py", STRIDED)
    (finding,) = json.loads(kdacheck("model.py", "--output-format", "json").out)
    assert finding["fix"] == {
        "applicability": "safe",
        "message": "Pass a dense copy of `dt_bias`",
        "edits": [
            {
                "content": ".contiguous()",
                "location": {"row": 16, "column": 21},
                "end_location": {"row": 16, "column": 21},
            }
        ],
    }


@pytest.mark.skipif(os.name == "nt", reason="modes and links")
def test_mode_and_link_are_kept(kdacheck, write):
    path = write("real/model.py", STRIDED)
    path.chmod(0o750)
    os.symlink("real/model.py", "link.py")
    assert kdacheck("--fix", "link.py").status == 0
    assert os.path.islink("link.py")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert path.read_text("utf-8") == fixed(STRIDED)
    assert os.listdir("real") == ["model.py"]


def test_an_interrupt_leaves_the_file_and_nothing_else(write, monkeypatch):
    path = write("model.py", STRIDED)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fixes.write(str(path), STRIDED.encode(), b"other")
    assert path.read_text("utf-8") == STRIDED
    assert os.listdir() == ["model.py"]


def test_a_file_that_changed_meanwhile_is_not_overwritten(write):
    path = write("model.py", "new\n")
    with pytest.raises(OSError, match="changed meanwhile"):
        fixes.write(str(path), b"old\n", b"fixed\n")
    assert path.read_text("utf-8") == "new\n"


# What was written, run with real tensors


def _arguments(text: str, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the contracted call of a text, evaluated: by keyword, or by number."""
    torch = pytest.importorskip("torch")
    tree = ast.parse(text)
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    *body, last = function.body
    assert isinstance(last, (ast.Return, ast.Expr, ast.Assign))
    call = last.value
    assert isinstance(call, ast.Call)
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, **values}
    exec(compile(ast.Module(body, []), "model.py", "exec"), names)
    passed = {str(number): node for number, node in enumerate(call.args)}
    passed |= {keyword.arg or "**": keyword.value for keyword in call.keywords}
    return {
        name: eval(compile(ast.Expression(node), "model.py", "eval"), names)
        for name, node in passed.items()
    }


def test_fixed_arguments_are_what_the_callee_wants():
    torch = pytest.importorskip("torch")
    values: dict[str, Any] = dict.fromkeys(("q", "k", "v", "g", "beta", "pool", "slots", "A_log"))
    before = _arguments(STRIDED, values)["dt_bias"]
    after = _arguments(fixed(STRIDED), values)["dt_bias"]
    assert not before.is_contiguous()
    assert after.is_contiguous()
    assert torch.equal(before, after)

    text = one_call(
        GYM,
        "    slots = torch.tensor([3, 4], dtype=torch.int32)\n",
        "q, k, v, g, beta, cu_seqlens=F.pad(slots.cumsum(0), (1, 0))",
    )
    before = _arguments(text, values)["cu_seqlens"]
    after = _arguments(fixed(text), values)["cu_seqlens"]
    assert (before.dtype, after.dtype) == (torch.int64, torch.int32)
    assert before.tolist() == after.tolist()


@pytest.mark.parametrize("imports", ["", "from einops import rearrange\n"])
def test_flattened_operands_hold_the_same_tokens_in_a_batch_of_one(imports: str):
    torch = pytest.importorskip("torch")
    einops = pytest.importorskip("einops")
    text = UNFLAT.format(imports=imports)

    class Owner:
        g = torch.randn(2, 128, 8, 64)

    values: dict[str, Any] = {
        "self": Owner,
        "beta": torch.rand(1, 256, 8),
        "rearrange": einops.rearrange,
    }
    torch.manual_seed(0)
    before = _arguments(text, values)
    torch.manual_seed(0)
    after = _arguments(fixed(text, unsafe=True), values)
    for name in "01234":
        assert after[name].shape[:2] == (1, 256)
        assert torch.equal(before[name].flatten(), after[name].flatten())


def test_a_bias_gets_the_rank_that_is_wanted():
    torch = pytest.importorskip("torch")
    text = """\
import torch
import flash_kda

def run(q, k, v, g, beta, out):
    A_log, dt_bias = torch.zeros(8), torch.arange(8 * 128)
    flash_kda.fwd(q, k, v, g, beta, 0.088, out, A_log, dt_bias, -5.0)
"""
    after = fixed(text, unsafe=True)
    values: dict[str, Any] = dict.fromkeys(("q", "k", "v", "g", "beta", "out"))
    bias = _arguments(after, values)["8"]
    assert bias.shape == (8, 128)
    assert torch.equal(bias.flatten(), torch.arange(8 * 128))


def test_slots_of_one_column_are_passed_dense():
    torch = pytest.importorskip("torch")
    text = """\
import torch
from sglang.kernels.ops.attention.linear.fused_sigmoid_gating_recurrent import (
    fused_sigmoid_gating_delta_rule_update as update,
)

def run(A_log, a, dt_bias, q, k, v, b, pool):
    slots = torch.arange(16, dtype=torch.int32).view(8, 2)[:, 0]
    update(
        A_log=A_log, a=a, dt_bias=dt_bias, softplus_beta=1.0, softplus_threshold=20.0, q=q, k=k, v=v, b=b,
        initial_state_source=pool, initial_state_indices=slots,
    )
"""
    values: dict[str, Any] = dict.fromkeys(("A_log", "a", "dt_bias", "q", "k", "v", "b", "pool"))
    before, after = (
        _arguments(each, values)["initial_state_indices"] for each in (text, fixed(text))
    )
    assert not before.is_contiguous()
    assert after.is_contiguous()
    assert torch.equal(before, after)


#: Rules whose examples offer a fix of the call.
FIXABLE = ("KDA001", "KDA002", "KDA003", "KDA101", "KDA102", "KDA201", "KDA304", "KDA307", "KDA501")


def test_every_shown_fix_holds():
    """No example of a rule offers a fix that would not be applied, and those of calls are run below."""
    from kdacheck.rules import catalogue

    offered = set()
    for rule in catalogue():
        for text in rule.wrong:
            done = repaired(text, unsafe=True)
            assert done.refused == []
            offered |= {finding.code for finding in done.fixed}
    assert offered == {*FIXABLE, "KDA900"}


@pytest.mark.parametrize("code", FIXABLE)
def test_fixed_examples_run(code: str):
    torch = pytest.importorskip("torch")
    import kdacheck
    from kdacheck.rules import find
    from tests.runtime.examples import call_example

    rule = find(code)
    assert rule is not None
    done = [(text, repaired(text, unsafe=True)) for text in rule.wrong]
    texts = [(text, each.data.decode()) for text, each in done if each.fixed]
    assert texts

    rows = {"g": torch.zeros(2, 128, 8, 64), "beta": torch.rand(2, 128, 8)}
    reshaped = rows if code == "KDA001" else {}

    def codes(text: str) -> tuple[str, ...]:
        with kdacheck.dry(), kdacheck.checking("values"):
            return call_example(text, **reshaped)

    for before, after in texts:
        if rule.runtime != "-":
            assert code in codes(before)
        assert codes(after) == ()


def _example(code: str) -> tuple[str, str]:
    """The example of a rule that has one, before and after."""
    from kdacheck.rules import find

    rule = find(code)
    assert rule is not None
    (wrong,) = rule.wrong
    after = fixed(wrong, unsafe=True)
    assert after in rule.right
    return wrong, after


def _computed(text: str, *arguments: Any) -> Any:
    """What an example returns where the mathematics is done, by the reference of the bundled kernel."""
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    from kdacheck.kernels import chunk_kda

    def prefill(*operands: Any, cu_seqlens: Any = None) -> tuple[Any, None]:
        return chunk_kda(*operands, cu_seqlens=cu_seqlens), None

    def convolution(x: Any, weight: Any, activation: str, cu_seqlens: Any) -> tuple[Any, None]:
        channels, width = weight.shape
        ends = cu_seqlens.tolist()
        rows = [functional.pad(x[:, a:b].mT, (width - 1, 0)) for a, b in itertools.pairwise(ends)]
        parts = [functional.conv1d(row, weight.unsqueeze(1), groups=channels) for row in rows]
        return getattr(functional, activation)(torch.cat(parts, -1).mT), None

    (function,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    names: dict[str, Any] = {"torch": torch, "chunk_kda": prefill, "causal_conv1d": convolution}
    exec(compile(ast.Module([function], []), "model.py", "exec"), names)
    torch.manual_seed(0)
    return names["run"](*arguments)


def test_with_its_boundaries_a_document_is_what_it_is_alone():
    """The mistake does not show at the call: it shows in what the second document, from token 60 on, takes from the first."""
    torch = pytest.importorskip("torch")
    before, after = _example("KDA003")
    weight, gate = torch.randn(256, 4) / 8, -torch.rand(1, 128, 4, 64) / 100
    strength = torch.rand(1, 128, 4)
    other = strength.clone()
    other[:, :60] = 0
    for text, leaks in ((before, True), (after, False)):
        first, second = (_computed(text, weight, gate, beta) for beta in (strength, other))
        assert first.shape == (1, 128, 4, 64)
        assert first.isfinite().all()
        assert not torch.equal(first[:, :60], second[:, :60])
        assert torch.equal(first[:, 60:], second[:, 60:]) is not leaks


def test_a_cut_of_the_token_axis_leaves_as_many_tokens_as_elsewhere():
    torch = pytest.importorskip("torch")
    before, after = _example("KDA002")
    values = {"cu": None, "num_tokens": 100}
    gates = [_arguments(text, values)["3"] for text in (before, after)]
    assert [gate.shape[1] for gate in gates] == [128, 100]
    offsets = torch.tensor([0, 40, 100])
    output, _ = _computed(after, offsets, 100)
    assert output.shape == (1, 100, 4, 64)
