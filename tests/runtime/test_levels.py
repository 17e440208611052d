"""Levels: what each checks, where it holds, and when contents are not read."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import kdacheck
from kdacheck.runtime import facts
from tests.runtime.contracted import arguments, attend, step

CONTENTS: list[tuple[str, list[int]]] = [
    ("KDA301", [5, 3, 8]),
    ("KDA302", [1, 3, 8]),
    ("KDA306", [0, 3, 7]),
    ("KDA308", [0, 9, 8]),
]


@pytest.mark.parametrize(("code", "values"), CONTENTS)
def test_contents_count_at_values_alone(code: str, values: list[int]) -> None:
    given = arguments(cu_seqlens=torch.tensor(values))
    attend(**given)
    with kdacheck.checking("values"), pytest.raises(kdacheck.ContractError) as raised:
        attend(**given)
    assert raised.value.codes == (code,)
    assert raised.value.parameter == "cu_seqlens"


def test_right_contents_pass_at_values() -> None:
    with kdacheck.checking("values"):
        attend(**arguments())
        attend(**arguments(cu_seqlens=torch.tensor([0, 8, 8], dtype=torch.int32)))


def test_slots_are_bounded_at_values() -> None:
    x, v, state = torch.zeros(2, 3, 4), torch.zeros(2, 3, 8), torch.zeros(5, 3, 4, 8)
    step(x, state, torch.tensor([0, 5]), v)
    with kdacheck.checking("values"):
        step(x, state, torch.tensor([0, 4]), v)
        for slots in ([0, 5], [-1, 0]):
            with pytest.raises(kdacheck.ContractError, match="KDA405"):
                step(x, state, torch.tensor(slots), v)


def test_off_checks_nothing() -> None:
    with kdacheck.checking("off"):
        attend(**arguments(dt_bias=torch.zeros(3)))


def test_levels_nest_and_come_back() -> None:
    broken = arguments(cu_seqlens=torch.tensor([1, 3, 8]))
    with kdacheck.checking("values"):
        with kdacheck.checking("off"):
            attend(**broken)
        with pytest.raises(kdacheck.ContractError):
            attend(**broken)
    attend(**broken)


def test_one_level_object_serves_many() -> None:
    values = kdacheck.checking("values")
    broken = arguments(cu_seqlens=torch.tensor([1, 3, 8]))
    for _ in range(2):
        with values, values, pytest.raises(kdacheck.ContractError):
            attend(**broken)
        attend(**broken)


def test_as_a_decorator() -> None:
    broken = arguments(cu_seqlens=torch.tensor([1, 3, 8]))

    @kdacheck.checking("values")
    def run() -> Any:
        return attend(**broken)

    with pytest.raises(kdacheck.ContractError):
        run()
    assert run.__name__ == "run"
    attend(**broken)


def test_threads_keep_their_own_level() -> None:
    broken = arguments(cu_seqlens=torch.tensor([1, 3, 8]))
    inside, leave = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def strict() -> None:
        with kdacheck.checking("values"):
            inside.set()
            leave.wait(10)
            try:
                attend(**broken)
            except kdacheck.ContractError as error:
                errors.append(error)

    thread = threading.Thread(target=strict)
    thread.start()
    inside.wait(10)
    attend(**broken)
    leave.set()
    thread.join()
    assert len(errors) == 1


def test_many_threads_at_once() -> None:
    right, wrong = arguments(), arguments(dt_bias=torch.zeros(1).expand(16))
    seen: list[str] = []

    def run() -> None:
        for _ in range(50):
            attend(**right)
            try:
                attend(**wrong)
            except kdacheck.ContractError as error:
                seen.append(error.code)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["KDA101"] * 400


def test_tasks_keep_their_own_level() -> None:
    broken = arguments(cu_seqlens=torch.tensor([1, 3, 8]))

    @kdacheck.checking("values")
    async def strict(entered: asyncio.Event, leave: asyncio.Event) -> bool:
        entered.set()
        await leave.wait()
        with pytest.raises(kdacheck.ContractError):
            attend(**broken)
        return True

    async def main() -> bool:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(strict(entered, leave))
        await entered.wait()
        attend(**broken)
        leave.set()
        return await task

    assert asyncio.run(main())


def test_generators_are_refused() -> None:
    def rows() -> Any:
        yield 1

    with pytest.raises(TypeError, match="in its body"):
        kdacheck.checking("values")(rows)


def test_a_wrong_level_is_refused() -> None:
    with pytest.raises(ValueError, match="no level 'loud'"):
        kdacheck.checking("loud")  # type: ignore[arg-type]


class Counting(TorchDispatchMode):
    """Counts operations, with which contents leave their tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_meta_runs_no_operation_on_any_tensor() -> None:
    guard = attend.__kdacheck_guard__()  # type: ignore[attr-defined]
    right, wrong = arguments(), arguments(dt_bias=torch.zeros(1).expand(16))
    with Counting() as mode:
        assert guard.passes((), right)
        assert guard.judge((), wrong, 1) is not None
    assert mode.seen == []


def test_each_tensor_is_copied_once_and_a_host_copy_is_used() -> None:
    reads: list[int] = []

    cu, other = torch.tensor([0, 3, 8]), torch.tensor([0, 8])
    original = facts._contents

    def counted(value: torch.Tensor) -> Any:
        reads.append(id(value))
        return original(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "_contents", counted)
        contents = facts.Contents({"a": cu, "b": cu, "c": other})
        assert [contents(name) for name in "abc"] == [(0, 3, 8), (0, 3, 8), (0, 8)]
        assert reads == [id(cu), id(other)]
        reads.clear()
        host = torch.tensor([0, 3, 8])
        device = torch.zeros(3, dtype=torch.int64, device="meta")
        contents = facts.Contents({"cu_seqlens": device, "cu_seqlens_cpu": host})
        assert contents("cu_seqlens") == (0, 3, 8)
        assert reads == [id(host)]


def test_contents_of_fake_and_meta_tensors_are_not_read() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with kdacheck.checking("values"):
        attend(**{k: _on_meta(v) for k, v in arguments().items()})
        with FakeTensorMode(allow_non_fake_inputs=True):
            attend(**arguments(cu_seqlens=torch.zeros(3, dtype=torch.int64)))
        mode = FakeTensorMode()
        faked: dict[str, Any] = {
            k: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v
            for k, v in arguments().items()
        }
        attend(**faked)


def _on_meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value
