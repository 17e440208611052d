"""Binding dimension names by a call, and the three-valued questions a rule may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kdacheck.contracts import Call, choose
from kdacheck.contracts.call import describe, names_in
from kdacheck.contracts.clauses import PerSequence, States, VFirst
from kdacheck.contracts.declare import clause, read
from kdacheck.contracts.tags import K_FIRST, V_FIRST
from kdacheck.facts import Fact, Integer, Literal, TensorFacts, Unknown
from kdacheck.facts.dims import symbol

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


def tensor(*shape: Any, **aspects: Any) -> TensorFacts:
    return TensorFacts.of(shape, dense=True, **aspects)


def call(path: str = "fla.ops.kda.chunk_kda", complete: bool = True, **facts: Fact) -> Call:
    chosen = choose(path, {})
    assert chosen is not None
    return Call(chosen[0], facts, chosen[1], complete=complete)


def test_names_in() -> None:
    assert names_in("HV*K") == {"HV", "K"}
    assert names_in("N+1") == {"N"}
    assert names_in("128") == frozenset()


def test_operands_bind_before_what_is_measured_by_them() -> None:
    sigmoid = (
        "sglang.kernels.ops.attention.linear.fused_sigmoid_gating_recurrent."
        "fused_sigmoid_gating_delta_rule_update"
    )
    unified = call(sigmoid, A_log=tensor(2), q=tensor(1, 8, 2, 16), v=tensor(1, 8, 4, 32)).unified
    assert unified.dims == {"N": 1, "B": 1, "T": 8, "H": 2, "K": 16, "HV": 4, "V": 32}
    assert unified.sizes == ()


def test_an_int_is_preferred_to_a_symbol() -> None:
    t = symbol("t")
    unified = call(q=tensor(1, t, 2, 16), k=tensor(1, 8, 2, 16)).unified
    assert unified.size("T") == 8
    assert unified.size("missing") is None
    assert unified.sizes == ()


def test_what_contradicts_teaches_nothing() -> None:
    unified = call(q=tensor(1, 8, 2, 16), k=tensor(1, 8, 3, 16), v=tensor(2, 8, 4, 32)).unified
    assert [
        (f.parameter, f.axis, f.spec, f.actual, f.expected, f.against) for f in unified.sizes
    ] == [
        ("k", 2, "H", 3, 2, "q"),
        ("v", 0, "B", 2, 1, "q"),
    ]
    assert "HV" not in unified.bound
    assert unified.sizes[0].names == {"H"}


def test_symbols_that_may_be_equal_do_not_contradict() -> None:
    unified = call(q=tensor(1, symbol("a"), 2, 16), k=tensor(1, symbol("b"), 2, 16)).unified
    assert unified.sizes == ()
    few = symbol("h", choices=(4, 8))
    assert [
        f.parameter for f in call(q=tensor(1, 8, 2, 16), k=tensor(1, 8, few, 16)).unified.sizes
    ] == ["k"]


def test_ranks() -> None:
    unified = call(q=tensor(8, 2, 16), v=tensor(1, 8, 4, 32)).unified
    assert [(f.parameter, f.actual, f.allowed) for f in unified.ranks] == [("q", 3, (4,))]
    assert "H" not in unified.bound


def test_partial_shapes_bind_what_they_know() -> None:
    unified = call(q=TensorFacts(partial={0: 1, 2: 4}), k=tensor(1, 8, 2, 16)).unified
    assert [(f.parameter, f.axis) for f in unified.sizes] == [("k", 2)]


def test_sequences() -> None:
    cu = tensor(4, dtype="int64", values=(0, 2, 5, 8))
    assert call(cu_seqlens=cu).sequences("cu_seqlens") == 3
    assert call(cu_seqlens=cu).unified.size("N") == 3
    for bad in (
        cu.with_(values=(2, 5, 8, 9)),
        cu.with_(tags=frozenset(("sum",))),
        tensor(2, 4, dtype="int64"),
        Unknown(),
    ):
        assert call(cu_seqlens=bad).sequences("cu_seqlens") is None


def test_without_offsets_sequences_are_the_batch() -> None:
    q = tensor(3, 8, 2, 16)
    assert call(q=q).unified.size("N") == 3
    assert call(q=q, cu_seqlens=Literal(None)).unified.size("N") == 3
    assert call(q=q, cu_seqlens=Unknown()).unified.size("N") is None
    assert call(q=q, complete=False).unified.size("N") is None
    assert call(q=TensorFacts(partial={0: 3})).unified.size("N") is None


def test_a_flag_picks_the_order_of_a_state() -> None:
    assert call().state_order("initial_state") == K_FIRST
    assert call(state_v_first=Literal(True)).state_order("initial_state") == V_FIRST
    assert call(state_v_first=Unknown()).state_order("initial_state") is None

    @clause(VFirst(("state",)), States(("state",)), PerSequence("state", by="cu"))
    def kernel(state: Float[Tensor, "N V K"], cu: Int[Tensor, "N+1"] | None = None): ...

    assert Call(read(kernel, (), "", ""), {}).state_order("state") == V_FIRST


def test_expressions_are_judged_once_all_names_are_bound() -> None:
    path = "sglang.kernels.ops.attention.helion.kda_decode.helion_fused_recurrent_kda_packed_decode"
    unified = call(
        path, a=tensor(4, 500), b=tensor(4, 8), initial_state=tensor(9, 8, 32, 64)
    ).unified
    assert [(f.parameter, f.spec, f.actual, f.expected) for f in unified.sizes] == [
        ("a", "HV*K", 500, 512)
    ]
    assert unified.sizes[0].against == "b"


def test_unflattened() -> None:
    rows = tensor(2, 8, 2, 16)
    cu = tensor(3, dtype="int64")
    assert call(q=rows, cu_seqlens=cu).unflattened == {"q": 2}
    assert call(q=rows, cu_seqlens=Unknown(not_none=True)).unflattened == {"q": 2}
    assert call(q=rows, cu_seqlens=Unknown()).unflattened == {}
    assert call(q=rows).unflattened == {}
    assert call(q=tensor(symbol("b"), 8, 2, 16), cu_seqlens=cu).unflattened == {}
    assert call(q=tensor(symbol("b", low=2), 8, 2, 16), cu_seqlens=cu).unflattened


def test_given_and_on() -> None:
    some, none, maybe = tensor(4), Literal(None), Unknown()
    assert call(A_log=some).given("A_log") is True
    assert call(A_log=none).given("A_log") is False
    assert call(A_log=maybe).given("A_log") is None
    assert call(A_log=Unknown(not_none=True)).given("A_log") is True
    assert call().given("A_log") is False
    assert call().given("q") is False
    assert call(complete=False).given("A_log") is None
    assert call(A_log=Integer(symbol("n"))).given("A_log") is True
    assert call(A_log=maybe).handed("A_log")
    assert not call(A_log=none).handed("A_log")
    assert not call().handed("A_log")

    assert call().on("safe_gate") is False
    assert call(safe_gate=Literal(True)).on("safe_gate") is True
    assert call(safe_gate=maybe).on("safe_gate") is None
    assert call(safe_gate=Unknown(not_none=True)).on("safe_gate") is None
    assert call(lower_bound=Literal(0.0)).on("lower_bound") is True
    assert call(lower_bound=none).on("lower_bound") is False
    assert call(cu_seqlens=some).on("cu_seqlens") is True
    assert call(complete=False).on("safe_gate") is None
    assert call(safe_gate=Literal(True)).all_on(("safe_gate",))
    assert call().all_on(())


def test_ignored_and_number() -> None:
    assert call().ignored("A_log")
    assert not call(use_gate_in_kernel=Literal(True)).ignored("A_log")
    assert not call(use_gate_in_kernel=Unknown()).ignored("A_log")
    assert not call().ignored("q")
    assert call(lower_bound=Literal(-5.0)).number("lower_bound") == -5.0
    assert call(lower_bound=Literal(True)).number("lower_bound") is None
    assert call(lower_bound=Unknown()).number("lower_bound") is None


def test_describe() -> None:
    assert describe(tensor(1, symbol("T"))) == "[1, T]"
    assert describe(Literal(None)) == "None"
    assert describe(Integer(3)) == "3"
    assert describe(Unknown()) == "unknown"
