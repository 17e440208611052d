"""Calls the wrong examples with real tensors: `python examples/run.py prefill`, `replayssm_decode`, or `own_kernel`.

Stand-ins take the place of the kernels, so that neither a GPU nor SGLang is needed; they keep the contracts.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import torch

import kdacheck

HEADS, DIM, SLOTS, RING = 16, 128, 4, 16


def prefill() -> None:
    from wrong.prefill import prefill

    pool = torch.zeros(SLOTS, HEADS, DIM, DIM)
    slots = torch.tensor([0, 1], dtype=torch.int32)
    prefill(pool, slots, torch.zeros(HEADS), torch.zeros(HEADS * DIM))


def replayssm_decode() -> None:
    from wrong.replayssm_decode import decode

    rows = 4
    layer = SimpleNamespace(A_log=torch.zeros(HEADS), dt_bias=torch.zeros(HEADS, DIM))
    caches = (
        torch.zeros(SLOTS, RING, HEADS, DIM, dtype=torch.bfloat16),
        torch.zeros(SLOTS, RING, HEADS, DIM, dtype=torch.bfloat16),
        torch.zeros(SLOTS, RING, HEADS, DIM),
    )
    decode(
        layer,
        mixed_qkv=torch.zeros(rows, 3 * HEADS * DIM, dtype=torch.bfloat16),
        a=torch.zeros(rows, HEADS * DIM, dtype=torch.bfloat16),
        b=torch.zeros(rows, HEADS, dtype=torch.bfloat16),
        scale=DIM**-0.5,
        pool=torch.zeros(SLOTS, HEADS, DIM, DIM),
        caches=caches,
        out=torch.zeros(rows, 1, HEADS, DIM, dtype=torch.bfloat16),
        slots=torch.arange(rows, dtype=torch.int32),
        write_pos=torch.zeros(rows, dtype=torch.int32),
    )


def own_kernel() -> None:
    from wrong.own_kernel import prefill

    prefill()


EXAMPLES = {example.__name__: example for example in (prefill, replayssm_decode, own_kernel)}


if __name__ == "__main__":
    try:
        with kdacheck.dry():
            EXAMPLES[sys.argv[1]]()
    except kdacheck.ContractError as error:
        print(f"kdacheck.ContractError: {error}")
