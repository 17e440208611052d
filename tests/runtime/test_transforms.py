"""Contracted functions under what torch does to functions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

import kdacheck
from kdacheck.clauses import Dense, Packed, SameDevice
from tests.runtime.contracted import arguments, attend

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def pair(*shape: int, **changes: Any) -> tuple[Tensor, Tensor]:
    return torch.randn(shape, **changes), torch.randn(shape, **changes)


@kdacheck.contract(Packed(("q", "k"), by="cu"), Dense(("k",)), SameDevice())
def dot(
    q: Float[Tensor, "B T K"], k: Float[Tensor, "B T K"], cu: Tensor | None = None
) -> Float[Tensor, "B T"]:
    return (q * k).sum(-1)


def undecorated(q: Tensor, k: Tensor, cu: Tensor | None = None) -> Tensor:
    return (q * k).sum(-1)


def model(function: Any, q: Tensor, k: Tensor) -> Tensor:
    return function(q * 2, k + 1).relu()


def graphs(
    function: Any, *, dynamic: bool | None, shapes: list[tuple[int, ...]]
) -> tuple[int, int]:
    """How many graphs are compiled, and of how many operations, for calls with these shapes."""
    torch._dynamo.reset()
    counter = CompileCounter()

    def run(q: Tensor, k: Tensor) -> Tensor:
        return model(function, q, k)

    compiled = torch.compile(run, backend=counter, fullgraph=True, dynamic=dynamic)
    for shape in shapes:
        q, k = pair(*shape)
        torch.testing.assert_close(compiled(q, k), model(undecorated, q, k))
    return counter.frame_count, counter.op_count


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("level", ["meta", "values", "off"])
def test_no_graph_break_and_no_recompile(dynamic: bool | None, level: Any) -> None:
    shapes = [(1, 4, 8), (1, 4, 8), (1, 6, 8), (1, 9, 8), (2, 9, 8), (3, 5, 8)]
    with kdacheck.checking(level):
        ours = graphs(dot, dynamic=dynamic, shapes=shapes)
    assert ours == graphs(undecorated, dynamic=dynamic, shapes=shapes)


@kdacheck.contract(Packed(("q", "k"), by="cu"), Dense(("k",)), SameDevice())
def apart(
    q: Float[Tensor, "B T K"],
    k: Float[Tensor, "B T K"],
    cu: Tensor | None = None,
    context: Any = None,
    scale: float = 1.0,
    *,
    rows: int = 1,
) -> Tensor:
    """Asks nothing of how its operands agree, and never looks at some: only the contract does."""
    return q.sum() * scale + k.sum() + rows


def undecorated_apart(
    q: Tensor,
    k: Tensor,
    cu: Tensor | None = None,
    context: Any = None,
    scale: float = 1.0,
    *,
    rows: int = 1,
) -> Tensor:
    return q.sum() * scale + k.sum() + rows


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_tracing_a_check_leaves_no_guard(dynamic: bool | None) -> None:
    def compiled(function: Any) -> tuple[int, int]:
        torch._dynamo.reset()
        counter = CompileCounter()
        run = torch.compile(function, backend=counter, fullgraph=True, dynamic=dynamic)
        for tokens, other, scale, rows in [
            (4, 4, 1.0, 1),
            (6, 4, 1.0, 1),
            (6, 9, 2.0, 3),
            (7, 5, 2.0, 4),
        ]:
            q, k = pair(1, tokens, 8)
            cu = torch.zeros(other, dtype=torch.int64)
            run(q, k, cu, context=object(), scale=scale, rows=rows)
            run(q, k, None, scale=scale, rows=rows)
        return counter.frame_count, counter.op_count

    ours = compiled(lambda *args, **keywords: apart(*args, **keywords))
    assert ours == compiled(lambda *args, **keywords: undecorated_apart(*args, **keywords))


def test_sizes_that_only_the_contract_compares_stay_dynamic() -> None:
    torch._dynamo.reset()
    q, k = pair(4, 6, 8)
    for value in (q, k):
        torch._dynamo.mark_dynamic(value, 1)
    counter = CompileCounter()
    compiled = torch.compile(lambda q, k: apart(q, k), backend=counter, fullgraph=True)
    compiled(q, k)
    compiled(*pair(4, 9, 8))
    assert counter.frame_count == 1


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_a_broken_call_raises_when_it_is_traced(dynamic: bool | None, fullgraph: bool) -> None:
    torch._dynamo.reset()
    q = torch.randn(1, 4, 8)

    def run(q: Tensor, k: Tensor) -> Tensor:
        return dot(q * 2, k.transpose(1, 2)).relu()

    compiled = torch.compile(run, backend="aot_eager", dynamic=dynamic, fullgraph=fullgraph)
    with pytest.raises(kdacheck.ContractError, match="KDA201") as raised:
        compiled(q, torch.randn(1, 8, 4))
    assert (raised.value.filename, raised.value.lineno) == (
        __file__,
        run.__code__.co_firstlineno + 1,
    )
    assert "> k  float32[1, 4, 8] stride (32, 1, 4) cpu" in str(raised.value)
    right = torch.randn(1, 4, 8).transpose(1, 2)
    with pytest.raises(kdacheck.ContractError, match="KDA201"):
        compiled(q, torch.randn(1, 8, 4))
    torch.testing.assert_close(compiled(q, right), run(q, right))
    with kdacheck.checking("off"):
        assert compiled(q, torch.randn(1, 8, 4)).shape == (1, 4)  # kdacheck: ignore[KDA201]


def test_a_broken_call_raises_in_the_modules_and_transforms_that_are_traced() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(8))

        def forward(self, q: Tensor) -> Tensor:
            return dot(q, self.weight.expand(*q.shape))

    q, k = pair(1, 4, 8)
    wrong = torch.randn(1, 6, 8)

    def checkpointed(q: Tensor, k: Tensor) -> Any:
        return checkpoint(lambda q, k: dot(q, k).sin(), q, k, use_reentrant=False)

    runs: list[tuple[Any, tuple[Tensor, ...], tuple[Tensor, ...] | None]] = [
        (Layer(), (q,), None),
        (checkpointed, (q, wrong), (q, k)),
        (torch.vmap(dot), (q[None], wrong[None]), (q[None], k[None])),
        (torch.func.grad(lambda q, k: dot(q, k).sum()), (q, wrong), (q, k)),
    ]
    for run, broken, right in runs:
        torch._dynamo.reset()
        if right is not None:
            torch.compile(run, backend="aot_eager", fullgraph=True)(*right)
            torch._dynamo.reset()
        with pytest.raises(kdacheck.ContractError, match=r"KDA20[13]"):
            torch.compile(run, backend="aot_eager")(*broken)


def test_where_only_a_graph_will_do_the_error_of_torch_says_what_is_broken() -> None:
    class Module(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor) -> Tensor:
            return dot(q, k)

    q, k = pair(1, 4, 8)
    with pytest.raises(Exception, match="KDA203 operand-shape: `dot`"):
        torch.export.export(Module(), (q, k[:, :3]), strict=True)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="KDA203 operand-shape: `dot`"):
        torch.compile(torch.vmap(dot), fullgraph=True)(q[None], k[None, :, :3])


@kdacheck.contract(Dense(("k",)), SameDevice())
@torch.compiler.disable
def kept_out(q: Float[Tensor, "B T K"], k: Float[Tensor, "B T K"]) -> Tensor:
    """As the operators of FLA are."""
    return (q * k).sum(-1)


def test_a_kernel_that_is_not_compiled_breaks_the_graph_once_and_is_checked_every_time() -> None:
    def broken(function: Any) -> tuple[int, int]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        counter = CompileCounter()
        compiled = torch.compile(lambda q, k: model(function, q, k), backend=counter)
        for tokens in (4, 5, 6, 7):
            q, k = pair(1, tokens, 8)
            torch.testing.assert_close(compiled(q, k), model(undecorated, q, k))
        found = counter.frame_count, sum(torch._dynamo.utils.counters["graph_break"].values())
        if function is kept_out:
            for wrong in (torch.randn(1, 8, 7).transpose(1, 2), torch.randn(1, 6, 8)):
                with pytest.raises(kdacheck.ContractError, match=r"KDA20[13]"):
                    compiled(torch.randn(1, 7, 8), wrong)
        return found

    ours = broken(kept_out)
    assert ours == broken(torch.compiler.disable(undecorated))
    assert ours[1] > 0


def test_dry_calls_in_compiled_code() -> None:
    torch._dynamo.reset()
    q, k = pair(1, 4, 8)
    compiled = torch.compile(lambda q, k: dot(q * 2, k) + 1, backend="eager")
    torch.testing.assert_close(compiled(q, k), undecorated(q * 2, k) + 1)
    with kdacheck.dry("fla"):
        from fla.ops.kda import chunk_kda  # type: ignore[import-not-found]

        assert torch.equal(compiled(q, k), torch.ones(1, 4))
        with pytest.raises(kdacheck.ContractError, match="KDA203"):
            compiled(q, k[:, :3])
        x, beta = torch.randn(1, 8, 2, 4), torch.rand(1, 8, 2)
        layer = torch.compile(lambda x, **more: chunk_kda(x, x, x, x, beta, **more)[0] + 1)
        assert torch.equal(layer(x), torch.ones(1, 8, 2, 4))
        with pytest.raises(kdacheck.ContractError, match="KDA206"):
            layer(x, cu_seqlens=torch.zeros(3, dtype=torch.int64, device="meta"))
    torch._dynamo.reset()
    torch.testing.assert_close(compiled(q, k), undecorated(q * 2, k) + 1)


def test_a_call_that_torch_cannot_explain_is_compiled_unchecked() -> None:
    torch._dynamo.reset()
    q, k = pair(1, 4, 8)

    def run(q: Tensor, k: Tensor) -> Tensor:
        return apart(q, k, context=[q, {"k": k}], scale=q.shape[1] * 0.5, rows=q.size(0))

    compiled = torch.compile(run, backend="aot_eager", fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(q, k), run(q, k))


def test_a_level_that_changes_recompiles_nothing() -> None:
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(lambda q, k: dot(q, k), backend=counter, fullgraph=True)
    q, k = pair(1, 4, 8)
    for level in ("meta", "off", "values", "meta"):
        with kdacheck.checking(level):  # type: ignore[arg-type]
            compiled(q, k)
    assert counter.frame_count == 1


def test_marked_dynamic_sizes_stay_dynamic() -> None:
    torch._dynamo.reset()
    q, k = pair(4, 6, 8)
    for value in (q, k):
        torch._dynamo.mark_dynamic(value, 0)
        torch._dynamo.mark_dynamic(value, 1)
    compiled = torch.compile(lambda q, k: dot(q, k), backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(q, k), undecorated(q, k))


def test_export() -> None:
    class Module(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor) -> Tensor:
            return dot(q, k)

    q, k = pair(4, 6, 8)
    batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens")
    sizes = {0: batch, 1: tokens}
    for strict in (True, False):
        program = torch.export.export(
            Module(), (q, k), dynamic_shapes=(sizes, sizes), strict=strict
        )
        again = pair(3, 5, 8)
        torch.testing.assert_close(program.module()(*again), undecorated(*again))


def test_compiled_without_fullgraph_gives_no_false_alarm() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda q, k: dot(q, k), backend="eager")
    for tokens in (3, 4, 5, 6):
        q, k = pair(1, tokens, 8)
        torch.testing.assert_close(compiled(q, k), undecorated(q, k))


def test_in_a_custom_op_every_call_is_checked_also_under_compile() -> None:
    @torch.library.custom_op(
        "kdacheck_tests::dot", mutates_args=(), schema="(Tensor q, Tensor k) -> Tensor"
    )
    @kdacheck.contract(Dense(("k",)), SameDevice())
    def op(q: Float[Tensor, "B T K"], k: Float[Tensor, "B T K"]) -> Tensor:
        return (q * k).sum(-1)

    @op.register_fake
    @kdacheck.contract()
    def _(q: Float[Tensor, "B T K"], k: Float[Tensor, "B T K"]) -> Tensor:
        return q.new_empty(q.shape[:2])

    q, k = pair(1, 4, 8)
    torch.testing.assert_close(op(q, k), undecorated(q, k))
    with pytest.raises(kdacheck.ContractError, match="KDA201"):
        op(q, k.transpose(1, 2).contiguous().transpose(1, 2))
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(lambda q, k: op(q, k) + 1, backend=counter, fullgraph=True)
    torch.testing.assert_close(compiled(q, k), undecorated(q, k) + 1)
    with pytest.raises(kdacheck.ContractError, match="KDA201"):
        compiled(q, torch.randn(1, 8, 4).transpose(1, 2))


def test_make_fx_is_judged_without_a_guard() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    q, k = pair(4, 6, 8)
    traced = make_fx(lambda q, k: dot(q, k), tracing_mode="symbolic")(q, k)
    again = pair(3, 5, 8)
    torch.testing.assert_close(traced(*again), undecorated(*again))
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        make_fx(lambda q, k: dot(q, k), tracing_mode="symbolic")(q, k[:, :5])


def test_symbolic_trace_records_the_function_alone() -> None:
    class Layer(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor) -> Tensor:
            return dot(q, k)

    traced, bare = torch.fx.symbolic_trace(Layer()), torch.fx.symbolic_trace(dot.__wrapped__)  # type: ignore[attr-defined]
    shown = [node.target for node in traced.graph.nodes if node.op.startswith("call")]
    assert shown == [node.target for node in bare.graph.nodes if node.op.startswith("call")]
    q, k = pair(1, 4, 8)
    torch.testing.assert_close(traced(q, k), undecorated(q, k))


def test_parameters_that_have_no_shape_yet() -> None:
    taken: list[Any] = []

    @kdacheck.contract(Dense(("k",)), SameDevice())
    def keeping(q: Float[Tensor, "B K"], k: Float[Tensor, "K"]) -> None:
        taken.append(k)

    keeping(torch.zeros(2, 3), torch.nn.UninitializedParameter())
    assert len(taken) == 1
    with pytest.raises(kdacheck.ContractError, match="KDA204"):
        keeping(torch.zeros(2), torch.nn.UninitializedParameter())


def test_autograd() -> None:
    q, k = pair(1, 4, 8, requires_grad=True)
    dot(q, k).sum().backward()
    assert q.grad is not None
    torch.testing.assert_close(q.grad, k.detach())
    torch.autograd.gradcheck(dot, pair(1, 2, 3, dtype=torch.float64, requires_grad=True))


def test_parameters_and_inference_mode() -> None:
    with torch.inference_mode():
        q, k = pair(1, 4, 8)
        dot(q, k)
        with kdacheck.checking("values"):
            attend(**arguments())
        with pytest.raises(kdacheck.ContractError, match="KDA203"):
            dot(q, k[:, :3])
    dot(torch.nn.Parameter(torch.zeros(1, 4, 8)), torch.zeros(1, 4, 8))


def test_function_transforms() -> None:
    q, k = pair(3, 1, 4, 8)
    expected = torch.stack([undecorated(a, b) for a, b in zip(q, k, strict=True)])
    for level in ("meta", "values"):
        with kdacheck.checking(level):  # type: ignore[arg-type]
            torch.testing.assert_close(torch.vmap(dot)(q, k), expected)
            torch.func.grad(lambda q: dot(q, k[0]).sum())(q[0])
            torch.func.jvp(lambda q: dot(q, k[0]), (q[0],), (q[0],))
            torch.func.jacrev(dot)(q[0], k[0])
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        torch.vmap(dot)(q, k[..., :3])
    with pytest.raises(kdacheck.ContractError, match="KDA001"):
        torch.vmap(lambda q, k: dot(q, k, torch.zeros(2)))(*pair(3, 2, 4, 8))


def test_fake_and_meta_tensors_are_checked_like_real_ones() -> None:
    with FakeTensorMode():
        q, k = pair(1, 4, 8)
        assert dot(q, k).shape == (1, 4)
        with pytest.raises(kdacheck.ContractError, match="KDA201"):
            dot(q, torch.randn(1, 8, 4).transpose(1, 2))
    q, k = pair(1, 4, 8, device="meta")
    assert dot(q, k).shape == (1, 4)
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        dot(q, k[:, :3])
    with pytest.raises(kdacheck.ContractError, match="KDA206"):
        dot(q, torch.randn(1, 4, 8))


def test_subclasses_of_tensor() -> None:
    class Named(Tensor):
        pass

    q, k = (value.as_subclass(Named) for value in pair(1, 4, 8))
    assert type(dot(q, k)) is Named
    with pytest.raises(kdacheck.ContractError, match="KDA203"):
        dot(q, k[:, :3])


def test_other_layouts_are_said_no_untruth_of() -> None:
    q, k = pair(1, 4, 8)
    dot(q.to_sparse(), k)
    nested = torch.nested.nested_tensor([torch.zeros(4, 8)], layout=torch.jagged)
    with pytest.raises((kdacheck.ContractError, RuntimeError, TypeError)):
        dot(nested, torch.zeros(2, 2))


def test_local_shards_of_a_distributed_tensor(tmp_path: Any) -> None:
    import torch.distributed as dist

    if not dist.is_available():
        pytest.skip("torch is built without distributed")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        q, k = (distribute_tensor(value, mesh, [Shard(1)]) for value in pair(1, 4, 8))
        assert dot(q.to_local(), k.to_local()).shape == (1, 4)
        assert dot(q, k).shape == (1, 4)
        with pytest.raises(kdacheck.ContractError, match="KDA203"):
            dot(q.to_local(), k.to_local()[:, :3])
    finally:
        dist.destroy_process_group()


@CUDA
def test_cuda_tensors_and_graphs() -> None:
    q, k = pair(1, 4, 8, device="cuda")
    cu = torch.tensor([0, 4], device="cuda")
    dot(q, k, cu)
    with pytest.raises(kdacheck.ContractError, match="KDA206"):
        dot(q, k.cpu())
    given: dict[str, Any] = {
        n: v.cuda() if isinstance(v, Tensor) else v for n, v in arguments().items()
    }
    for level in ("meta", "values"):
        graph = torch.cuda.CUDAGraph()
        with kdacheck.checking(level), torch.cuda.graph(graph):  # type: ignore[arg-type]
            out = attend(**given)
        graph.replay()
        torch.testing.assert_close(out, given["v"] * 0.5)
    torch.cuda.set_sync_debug_mode("error")
    try:
        attend(**given)
        with pytest.raises(kdacheck.ContractError):
            attend(**{**given, "dt_bias": given["dt_bias"][::2]})
    finally:
        torch.cuda.set_sync_debug_mode("default")
    given["cu_seqlens"] = torch.tensor([1, 3, 8], device="cuda")
    with kdacheck.checking("values"), pytest.raises(kdacheck.ContractError, match="KDA302"):
        attend(**given)
