"""What is called for an argument or an index may change the object, which is the same object still.

finds: nothing
"""

import torch
from elsewhere import handed
from fla.ops.kda import chunk_kda


def root0(flag, n, opt, xs, x, options):
    parts = [torch.tensor([0])]
    parts.append(handed(torch.tensor([2, 4])))
    cu = torch.cat(parts)
    rows = {"a": cu}
    rows[handed("b")] = cu
    states = [cu]
    states += [handed(cu)]
    handed(list.append)(states, handed(cu))
    q = torch.zeros(1, 4, 2, 8)
    h = torch.zeros(len(parts), 2, 8, 8)
    chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=torch.tensor([0, 2, 4]))
    h = torch.zeros(len(states) - 1, 2, 8, 8)
    chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=torch.tensor([0, 2, 4]))
    h = torch.zeros(len(rows), 2, 8, 8)
    return chunk_kda(q, q, q, q, q[..., 0], initial_state=h, cu_seqlens=torch.tensor([0, 2, 4]))
