"""The contracts of the kernels: what they refuse, and that they change nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import kdacheck
from kdacheck import kernels
from kdacheck.kernels import reference

from .cases import candidates, copied, decode, prefill, replay

Calls = Callable[..., dict[str, Any]]
MAKE: dict[str, Calls] = {
    "chunk_kda": lambda: prefill(value_heads=2, offsets=[0, 3, 70]),
    "packed_decode": decode,
    "replayssm_decode": replay,
    "verify": candidates,
}


def rows(*names: str) -> Callable[[dict[str, Any]], None]:
    """Two rows in place of a flattened batch."""
    return lambda call: call.update({n: torch.cat([call[n], call[n]]) for n in names})


def put(**arguments: Any) -> Callable[[dict[str, Any]], None]:
    return lambda call: call.update(arguments)


def change(name: str, how: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., None]:
    return lambda call: call.update({name: how(call[name])})


EXPANDED = put(dt_bias=torch.zeros(1).expand(64))
COLUMN = put(A_log=torch.zeros(2, 3)[:, 1])

BROKEN = [
    ("chunk_kda", rows("q", "k", "v", "g", "beta"), "KDA001"),
    ("chunk_kda", rows("v"), "KDA001"),
    ("chunk_kda", EXPANDED, "KDA101"),
    ("chunk_kda", COLUMN, "KDA101"),
    ("chunk_kda", change("dt_bias", lambda x: x.view(1, 2, 32)), "KDA102"),
    ("chunk_kda", put(dt_bias=torch.zeros(2)), "KDA103"),
    ("chunk_kda", put(A_log=None), "KDA105"),
    ("chunk_kda", change("g", lambda x: x[:, :69]), "KDA203"),
    ("chunk_kda", change("k", torch.Tensor.half), "KDA402"),
    ("chunk_kda", change("cu_seqlens", torch.Tensor.float), "KDA304"),
    ("chunk_kda", change("initial_state_indices", lambda x: x[:1]), "KDA401"),
    ("chunk_kda", put(track_state=torch.zeros(2, 2, 32, 32)), "KDA404"),
    ("packed_decode", EXPANDED, "KDA101"),
    ("packed_decode", COLUMN, "KDA101"),
    ("packed_decode", change("dt_bias", lambda x: x.view(2, 32)), "KDA102"),
    ("packed_decode", change("mixed_qkv", lambda x: x[:, :-1]), "KDA203"),
    ("packed_decode", change("out", lambda x: torch.cat([x, x], -1)[..., ::2]), "KDA201"),
    ("packed_decode", change("initial_state", lambda x: x.mT.contiguous()), "KDA403"),
    ("packed_decode", change("ssm_state_indices", lambda x: x[:3]), "KDA401"),
    ("replayssm_decode", EXPANDED, "KDA101"),
    ("replayssm_decode", change("dt_bias", lambda x: x.view(1, 2, 32)), "KDA102"),
    ("replayssm_decode", change("g_cache", lambda x: x[:-1]), "KDA406"),
    ("replayssm_decode", change("write_pos", torch.Tensor.long), "KDA406"),
    ("replayssm_decode", change("g_cache", torch.Tensor.half), "KDA402"),
    ("verify", rows("q", "k", "v"), "KDA001"),
    ("verify", rows("v"), "KDA001"),
    ("verify", EXPANDED, "KDA101"),
    ("verify", put(dt_bias=torch.zeros(2)), "KDA103"),
    ("verify", change("cache_indices", lambda x: x[:4]), "KDA401"),
    ("verify", change("ssm_states", lambda x: x[..., :16]), "KDA203"),
]


@pytest.mark.parametrize(("name", "spoil", "code"), BROKEN)
def test_a_broken_law_is_refused(name, spoil, code):
    call = MAKE[name]()
    spoil(call)
    before = copied(call)
    with pytest.raises(kdacheck.ContractError) as refused:
        getattr(kernels, name)(**call)
    assert refused.value.code == code
    assert refused.value.callee == name
    for key, x in before.items():
        if isinstance(x, torch.Tensor):
            assert torch.equal(call[key], x) or x.isnan().any(), f"{key} was written"


CONTENTS = [
    ("chunk_kda", change("cu_seqlens", lambda x: x + x.new_tensor([0, 0, 9])), "KDA306"),
    ("chunk_kda", change("initial_state_indices", lambda x: x + 9), "KDA405"),
    ("packed_decode", change("ssm_state_indices", lambda x: x + 9), "KDA405"),
    ("replayssm_decode", change("write_pos", lambda x: x + 9), "KDA406"),
    ("verify", change("cache_indices", lambda x: x + 9), "KDA405"),
]


@pytest.mark.parametrize(("name", "spoil", "code"), CONTENTS)
def test_contents_are_read_at_the_level_of_values(name, spoil, code):
    call = MAKE[name]()
    spoil(call)
    with kdacheck.checking("values"), pytest.raises(kdacheck.ContractError) as refused:
        getattr(kernels, name)(**call)
    assert refused.value.code == code


@pytest.mark.parametrize("level", ["off", "meta", "values"])
@pytest.mark.parametrize("name", MAKE)
def test_a_passing_call_is_bit_identical_to_the_undecorated_kernel(name, level):
    function = getattr(kernels, name)
    call = MAKE[name]()
    mine, bare, plain = copied(call), copied(call), copied(call)
    with kdacheck.checking(level):
        result = function(**mine)
    for other, theirs in ((function.__wrapped__, bare), (getattr(reference, name), plain)):
        expected = other(**theirs)
        if name in ("chunk_kda", "verify"):
            assert torch.equal(result, expected)
        for key, x in mine.items():
            if isinstance(x, torch.Tensor):
                assert torch.equal(x, theirs[key]), key


ACCEPTED = [
    ("chunk_kda", put(dt_bias=None)),
    ("chunk_kda", put(initial_state_indices=None)),
    ("chunk_kda", put(initial_state=None, initial_state_indices=None)),
    ("chunk_kda", put(scale=1)),
    ("chunk_kda", put(cu_seqlens=torch.tensor([0, 3, 60]))),
    ("chunk_kda", change("dt_bias", lambda x: x.view(2, 32))),
    ("chunk_kda", change("v", lambda x: x.transpose(1, 2).contiguous().transpose(1, 2))),
    ("replayssm_decode", change("d_cache", lambda x: x.mT.contiguous().mT)),
    ("replayssm_decode", change("a", lambda x: x.view(4, 2, 32))),
    ("verify", change("A_log", lambda x: x.view(1, 1, 2, 1))),
    ("verify", change("a", lambda x: x.view(1, 9, 2, 32))),
    ("verify", put(retrieve_parent_token=torch.zeros(7, 6, dtype=torch.int32))),
]


@pytest.mark.parametrize(("name", "vary"), ACCEPTED)
def test_what_a_kernel_can_do_is_no_mistake(name, vary):
    call = MAKE[name]()
    vary(call)
    with kdacheck.checking("values"):
        getattr(kernels, name)(**call)


def test_off_in_the_environment_leaves_the_functions_themselves():
    code = (
        "from kdacheck import kernels\n"
        "for name in kernels.__all__:\n"
        "    function = getattr(kernels, name)\n"
        "    assert function.__code__.co_name == name, name\n"
        "    assert not hasattr(function, '__wrapped__'), name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"KDACHECK": "off"})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", MAKE)
def test_contracted_calls_are_captured_in_cuda_graphs(name):
    function = getattr(kernels, name)
    call = {n: x.cuda() if isinstance(x, torch.Tensor) else x for n, x in MAKE[name]().items()}
    eager, mine = copied(call), copied(call)
    expected = function(**eager)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        function(**copied(call))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with kdacheck.checking("values"), torch.cuda.graph(graph):
        result = function(**mine)
    graph.replay()
    if isinstance(expected, torch.Tensor):
        assert torch.equal(result, expected)
    for key, x in mine.items():
        if isinstance(x, torch.Tensor):
            assert torch.equal(x, eager[key]), key
