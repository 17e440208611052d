#!/usr/bin/env python3
"""Measure kdacheck's kernels and the peers that import, on one GPU.

    python benchmarks/gpu/bench.py check [--shard 0/1]        accuracy over random shapes and options
    python benchmarks/gpu/bench.py tune --picked FILE         let peers that autotune do so once, and note what they picked
    python benchmarks/gpu/bench.py prefill tokens decode replay host [--only kdacheck,fla] [--picked FILE] [--markdown FILE]

Peers: SGLang 0.5.23's Helion and Triton kernels and FLA's, where their packages are on the path. Each has its own copy of the
inputs. A time is the median of CUDA-graph replays in rounds that alternate the order of the providers; prefill starts every
round from a flushed L2. The floor is the traffic that no kernel avoids over the copy bandwidth of the same run. `host` is
the time of an eager call on the host, the GPU never waited for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
WIDTH = 128
SGLANG = "sglang.kernels.ops.attention"
KERNELS = {
    "prefill": {
        "kdacheck": "kdacheck.kernels:chunk_kda",
        "sglang-helion": f"{SGLANG}.helion.kda_prefill:chunk_kda",
        "sglang-triton": f"{SGLANG}.fla.kda:chunk_kda",
        "fla": "fla.ops.kda:chunk_kda",
    },
    "decode": {
        "kdacheck": "kdacheck.kernels:packed_decode",
        "sglang-helion": f"{SGLANG}.helion.kda_decode:helion_fused_recurrent_kda_packed_decode",
        "sglang-triton": f"{SGLANG}.fla.fused_recurrent:fused_recurrent_kda_packed_decode",
    },
    "replay": {
        "kdacheck": "kdacheck.kernels:replayssm_decode",
        "sglang-helion": f"{SGLANG}.helion.kda_replayssm:helion_fused_recurrent_kda_replayssm_decode",
        "sglang-triton": f"{SGLANG}.linear.fused_recurrent_linear_replayssm:fused_recurrent_linear_replayssm_decode",
    },
}
PREFILL = (
    (512, 1, 16), (2048, 4, 16), (8192, 8, 16), (2048, 4, 12), (8192, 1, 32), (8192, 8, 32),
    (32768, 16, 32), (8192, 6, 96), (8192, 8, 4),
)  # fmt: skip
TOKENS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
TUNED = (8192, 8, 16)
DECODE = ((1, 16), (8, 16), (32, 16), (128, 16), (256, 32))
REPLAY = ((8, 16, 8), (32, 16, 8), (128, 16, 8), (128, 16, 16), (256, 32, 16))
Call = Callable[[], Any]


def found(family: str, only: list[str]) -> dict[str, Any]:
    """The kernels of a family that import here."""
    kernels = {}
    for name, place in KERNELS[family].items():
        if only and name not in only:
            continue
        module, _, attribute = place.partition(":")
        try:
            kernels[name] = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            print(f"# without {name}: {error}")
    return kernels


def copies(inputs: dict[str, Any]) -> dict[str, Any]:
    return {n: x.clone() if isinstance(x, torch.Tensor) else x for n, x in inputs.items()}


def random_offsets(tokens: int, sequences: int) -> list[int]:
    return [0, *sorted((torch.randperm(tokens - 1)[: sequences - 1] + 1).tolist()), tokens]


def prefill_inputs(tokens: int, sequences: int, heads: int) -> dict[str, Any]:
    torch.manual_seed(0)
    shape = (1, tokens, heads, WIDTH)
    q, k, v, g = (torch.randn(shape, device="cuda", dtype=BF16) for _ in range(4))
    return {
        "q": q, "k": k, "v": v, "g": g,
        "beta": torch.rand(1, tokens, heads, device="cuda"),
        "initial_state": torch.randn(sequences, heads, WIDTH, WIDTH, device="cuda") * 0.1,
        "initial_state_indices": torch.arange(sequences, device="cuda", dtype=torch.int32),
        "cu_seqlens": torch.tensor(random_offsets(tokens, sequences), device="cuda", dtype=torch.int32),
        "A_log": torch.rand(heads, device="cuda") * 2,
        "dt_bias": torch.randn(heads * WIDTH, device="cuda") * 0.1,
    }  # fmt: skip


def prefill_call(name: str, kernel: Any, inputs: dict[str, Any]) -> Call:
    own = copies(inputs)
    if name != "fla":
        return lambda: kernel(**own, use_qk_l2norm_in_kernel=True)
    own.pop("initial_state_indices")
    own["cu_seqlens"] = own["cu_seqlens"].long()
    options = {
        "output_final_state": True,
        "use_qk_l2norm_in_kernel": True,
        "use_gate_in_kernel": True,
        "state_v_first": True,
    }

    def call() -> Any:
        with torch.inference_mode():
            return kernel(**own, **options)

    return call


def tune(only: list[str], part: str, file: str) -> None:
    """Let the peers tune at one shape: with ``part`` only compile that share, else write what was picked to ``file``."""
    import autotuned

    index, _, count = part.partition("/")
    if int(count) > 1:
        autotuned.share(int(index), int(count))
    picked = autotuned.record()
    inputs = prefill_inputs(*TUNED)
    for name, kernel in found("prefill", only).items():
        if name != "kdacheck":
            begin = time.perf_counter()
            prefill_call(name, kernel, inputs)()
            torch.cuda.synchronize()
            print(f"# {name}: {time.perf_counter() - begin:.0f} s", flush=True)
    if int(count) == 1:
        Path(file).write_text(json.dumps(picked, indent=1, sort_keys=True) + "\n")


def decode_inputs(batch: int, heads: int, state: torch.dtype, ring: int = 0) -> dict[str, Any]:
    torch.manual_seed(0)
    slots = batch + 1
    inputs = {
        "mixed_qkv": torch.randn(batch, 3 * heads * WIDTH, device="cuda", dtype=BF16),
        "a": torch.randn(batch, heads * WIDTH, device="cuda", dtype=BF16),
        "b": torch.randn(batch, heads, device="cuda", dtype=BF16),
        "A_log": torch.rand(heads, device="cuda"),
        "dt_bias": torch.randn(heads * WIDTH, device="cuda") * 0.1,
        "scale": WIDTH**-0.5,
        "initial_state": (torch.randn(slots, heads, WIDTH, WIDTH, device="cuda") * 0.1).to(state),
        "out": torch.empty(batch, 1, heads, WIDTH, device="cuda", dtype=BF16),
        "ssm_state_indices": torch.randperm(slots, device="cuda")[:batch].int(),
        "use_qk_l2norm_in_kernel": True,
    }
    if ring:
        shape = (slots, heads, ring, WIDTH)
        inputs |= {
            "d_cache": torch.randn(shape, device="cuda", dtype=BF16),
            "k_cache": torch.nn.functional.normalize(torch.randn(shape, device="cuda"), dim=-1).to(
                BF16
            ),
            "g_cache": -torch.rand(shape, device="cuda") * 0.1,
            "write_pos": torch.full((batch,), ring // 2, device="cuda", dtype=torch.int32),
        }
    return inputs


def step_call(name: str, kernel: Any, inputs: dict[str, Any]) -> Call:
    own = copies(inputs)
    if name == "sglang-triton" and "d_cache" in own:
        heads = own["b"].shape[1]
        own["a"], own["dt_bias"] = (
            own["a"].view(-1, heads, WIDTH),
            own["dt_bias"].view(heads, WIDTH),
        )
        own["is_kda"] = True
    return lambda: kernel(**own)


def captured(call: Call, repeat: int) -> torch.cuda.CUDAGraph:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeat):
            call()
    return graph


def alternated(
    calls: dict[str, Call], repeat: int, rounds: int, flush: torch.Tensor | None
) -> dict[str, float]:
    """Median microseconds of one call, by provider."""
    graphs = {name: captured(call, repeat) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for turn in range(rounds):
        for name in sorted(graphs, reverse=bool(turn % 2)):
            if flush is not None:
                flush.zero_()
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[name].replay()
            stop.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(stop) * 1e3 / repeat)
    return {name: statistics.median(t) for name, t in times.items()}


def eager(call: Call, count: int = 300) -> float:
    """Microseconds of host time a call."""
    for _ in range(20):
        call()
    laps = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count // 5):
            call()
        laps.append((time.perf_counter() - begin) * 1e6 / (count // 5))
    torch.cuda.synchronize()
    return statistics.median(laps)


class Table:
    """Rows printed as they come, and kept as Markdown."""

    def __init__(self, title: str, names: list[str]) -> None:
        self.title, self.names = title, names
        self.ratios: dict[str, list[float]] = {n: [] for n in names}
        self.lines = [
            f"| {title} | " + " | ".join(names) + " | floor |",
            "|---|" + "---:|" * (len(names) + 1),
        ]
        print(f"\n{title}: microseconds (ratio to kdacheck)", flush=True)

    def row(self, label: str, times: dict[str, float], floor: float | None) -> None:
        ours = times.get("kdacheck")
        cells = []
        for name in self.names:
            text = f"{times[name]:.2f}" if name in times else "-"
            if ours and name in times and name != "kdacheck":
                self.ratios[name].append(times[name] / ours)
                text += f" ({times[name] / ours:.2f}x)"
            cells.append(text)
        cells.append("-" if floor is None else f"{floor:.2f}")
        self.lines.append(f"| {label} | " + " | ".join(cells) + " |")
        print(f"{label:28s}", *cells, sep="  ", flush=True)

    def close(self) -> list[str]:
        means = {n: statistics.geometric_mean(r) for n, r in self.ratios.items() if r}
        text = (
            "Geometric means over kdacheck: "
            + ", ".join(f"{n} {m:.2f}x" for n, m in means.items())
            + "."
        )
        print(text, flush=True)
        return [*self.lines, "", text, ""]


def bandwidth() -> float:
    """Bytes a second, read and written, of a large copy."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    target.copy_(source)
    start.record()
    for _ in range(20):
        target.copy_(source)
    stop.record()
    torch.cuda.synchronize()
    return 40 * source.numel() / (start.elapsed_time(stop) / 1e3)


def measure_prefill(only: list[str], heads: list[int], rounds: int, rate: float) -> list[str]:
    kernels = found("prefill", only)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    table = Table("prefill: tokens, sequences, heads", list(kernels))
    for shape in PREFILL:
        if heads and shape[2] not in heads:
            continue
        inputs = prefill_inputs(*shape)
        times = alternated(
            {n: prefill_call(n, k, inputs) for n, k in kernels.items()}, 5, rounds, flush
        )
        table.row(", ".join(map(str, shape)), times, shape[0] * shape[2] * WIDTH * 10 / rate * 1e6)
    return table.close()


def measure_tokens(only: list[str], heads: list[int], rounds: int, rate: float) -> list[str]:
    """Prefill of more and more tokens in sequences of random length, 1024 on average."""
    kernels = found("prefill", only)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    table = Table("prefill of 16 heads by tokens", list(kernels))
    for tokens in TOKENS:
        inputs = prefill_inputs(tokens, max(1, tokens // 1024), 16)
        calls = {n: prefill_call(n, k, inputs) for n, k in kernels.items()}
        times = alternated(calls, 5, rounds, flush)
        table.row(str(tokens), times, tokens * 16 * WIDTH * 10 / rate * 1e6)
    return table.close()


def measure_decode(only: list[str], heads: list[int], rounds: int, rate: float) -> list[str]:
    kernels = found("decode", only)
    table = Table("packed decode: state, rows, heads", list(kernels))
    for state in (FP32, BF16):
        for batch, count in DECODE:
            inputs = decode_inputs(batch, count, state)
            times = alternated(
                {n: step_call(n, k, inputs) for n, k in kernels.items()}, 20, rounds, None
            )
            floor = batch * count * WIDTH * WIDTH * state.itemsize * 2 / rate * 1e6
            table.row(f"{str(state)[6:]}, {batch}, {count}", times, floor)
    return table.close()


def measure_replay(only: list[str], heads: list[int], rounds: int, rate: float) -> list[str]:
    kernels = found("replay", only)
    table = Table("ReplaySSM decode, ring half full: state, rows, heads, ring", list(kernels))
    for state in (FP32, BF16):
        for batch, count, ring in REPLAY:
            inputs = decode_inputs(batch, count, state, ring)
            times = alternated(
                {n: step_call(n, k, inputs) for n, k in kernels.items()}, 20, rounds, None
            )
            floor = (
                batch
                * count
                * (WIDTH * WIDTH * state.itemsize + ring // 2 * WIDTH * 8)
                / rate
                * 1e6
            )
            table.row(f"{str(state)[6:]}, {batch}, {count}, {ring}", times, floor)
    return table.close()


def measure_host(only: list[str], heads: list[int], rounds: int, rate: float) -> list[str]:
    names = [n for n in KERNELS["prefill"] if not only or n in only]
    table = Table("eager call on the host", names)
    cases = (
        ("prefill", prefill_call, prefill_inputs(512, 1, 16)),
        ("decode", step_call, decode_inputs(1, 16, FP32)),
        ("replay", step_call, decode_inputs(8, 16, FP32, 8)),
    )
    for family, bind, inputs in cases:
        calls = {n: bind(n, k, inputs) for n, k in found(family, only).items()}
        table.row(family, {n: eager(call) for n, call in calls.items()}, None)
    return table.close()


def relative(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return (
        (actual.double() - expected.double()).norm() / expected.double().norm().clamp_min(1e-30)
    ).item()


# H, HV, K, V, dtype, options: what a kernel is specialised to; the rest of a case is drawn.
FAMILIES: tuple[tuple[int, int, int, int, torch.dtype, dict[str, Any]], ...] = (
    (2, 2, 128, 128, BF16, {}),
    (4, 4, 128, 128, BF16, {"lower_bound": -5.0}),
    (1, 2, 64, 128, BF16, {"beta_is_raw": True}),
    (2, 4, 128, 64, FP16, {}),
    (2, 2, 32, 32, BF16, {}),
    (1, 3, 64, 64, FP16, {"use_qk_l2norm_in_kernel": False}),
    (2, 2, 128, 128, BF16, {"A_log": None, "dt_bias": None}),
    (1, 1, 256, 64, BF16, {}),
    (2, 2, 64, 32, FP32, {}),
    (2, 2, 128, 128, FP32, {"lower_bound": -5.0}),
)
BOUNDS = {BF16: 6e-3, FP16: 2e-3, FP32: 1e-3}


def drawn(family: Any, seed: int) -> dict[str, Any]:
    heads, value_heads, width, value_width, dtype, options = family
    draw = random.Random(seed)
    torch.manual_seed(seed)
    packed = draw.random() < 0.7
    batch = 1 if packed else draw.choice((1, 2, 3))
    tokens = draw.choice(
        (1, 2, 15, 63, 64, 65, 127, 128, 129, draw.randint(1, 400), draw.randint(1, 400))
    )
    sequences = draw.randint(1, 6) if packed else batch
    cuts = sorted(draw.randint(0, tokens) for _ in range(sequences - 1))
    q, k = (torch.randn(batch, tokens, heads, width, device="cuda").to(dtype) for _ in range(2))
    g = torch.randn(batch, tokens, value_heads, width, device="cuda") * draw.choice(
        (0.3, 2.0, 20.0)
    )
    beta = torch.randn(batch, tokens, value_heads, device="cuda")
    slots = torch.randperm(sequences + 2, device="cuda")[:sequences].int()
    if draw.random() < 0.3:
        slots[-1] = -1
    call = {
        "q": q, "k": k, "g": g.to(dtype), "beta": beta if "beta_is_raw" in options else beta.sigmoid(),
        "v": torch.randn(batch, tokens, value_heads, value_width, device="cuda").to(dtype),
        "initial_state": torch.randn(sequences + 2, value_heads, value_width, width, device="cuda") * 0.3,
        "initial_state_indices": slots,
        "cu_seqlens": torch.tensor([0, *cuts, tokens], device="cuda", dtype=torch.int32) if packed else None,
        "A_log": torch.rand(value_heads, device="cuda") * 2,
        "dt_bias": torch.randn(value_heads * width, device="cuda") * 0.1,
        "use_qk_l2norm_in_kernel": True,
    } | options  # fmt: skip
    if not call["use_qk_l2norm_in_kernel"]:
        call["q"], call["k"] = (
            torch.nn.functional.normalize(x.float(), dim=-1).to(dtype) for x in (q, k)
        )
    if call["A_log"] is None:
        call["g"] = -call["g"].abs()
    return call


def check(shard: int, shards: int, cases: int = 20) -> int:
    """Random calls against the float64 reference; returns how many missed their bound."""
    from kdacheck.kernels import chunk_kda, reference

    missed = 0
    for i, family in enumerate(FAMILIES):
        if i % shards != shard:
            continue
        worst = [0.0, 0.0]
        for seed in range(cases):
            mine, theirs = (copies(drawn(family, 1000 * i + seed)) for _ in range(2))
            out = chunk_kda(**mine)
            expected = reference.chunk_kda(**theirs, dtype=torch.float64)
            errors = [
                relative(out, expected),
                relative(mine["initial_state"], theirs["initial_state"]),
            ]
            worst = [max(w, e) for w, e in zip(worst, errors, strict=True)]
            if not max(errors) < BOUNDS[family[4]]:
                missed += 1
                print(f"MISSED {family} seed {seed}: out {errors[0]:.1e} state {errors[1]:.1e}")
        print(
            f"{family}: {cases} cases, worst out {worst[0]:.1e}, state {worst[1]:.1e}", flush=True
        )
    return missed


def accuracy(only: list[str]) -> list[str]:
    """Errors of all prefill providers on one input."""
    from kdacheck.kernels import reference

    lines = ["| prefill error against float64 | output | state |", "|---|---:|---:|"]
    inputs = prefill_inputs(200, 3, 2)
    theirs = copies(inputs)
    expected = reference.chunk_kda(**theirs, use_qk_l2norm_in_kernel=True, dtype=torch.float64)
    for name, kernel in found("prefill", only).items():
        call = prefill_call(name, kernel, inputs)
        result = call()
        out = result[0] if isinstance(result, tuple) else result
        own = call.__closure__ or ()
        held = next(
            c.cell_contents
            for c in own
            if isinstance(c.cell_contents, dict) and "q" in c.cell_contents
        )
        state = result[1] if name == "fla" else held["initial_state"]
        lines.append(
            f"| {name} | {relative(out, expected):.1e} | {relative(state, theirs['initial_state']):.1e} |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        nargs="+",
        choices=("check", "accuracy", "prefill", "tokens", "decode", "replay", "host", "tune"),
    )
    parser.add_argument("--only", default="", help="providers, comma-separated")
    parser.add_argument("--heads", default="", help="prefill shapes of these head counts only")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shard", default="0/1", help="of the checks or of tuning: index/count")
    parser.add_argument(
        "--picked", default="", help="configurations of peers: tune writes them, others pin them"
    )
    parser.add_argument("--markdown", help="also write the tables here")
    options = parser.parse_args()
    only = [n for n in options.only.split(",") if n]
    heads = [int(h) for h in options.heads.split(",") if h]
    if "check" in options.what:
        index, _, count = options.shard.partition("/")
        return 1 if check(int(index), int(count)) else 0
    if "tune" in options.what:
        tune(only, options.shard, options.picked)
        return 0
    if options.picked:
        import autotuned

        autotuned.pin(Path(options.picked))
    rate = bandwidth()
    versions = [f"torch {torch.__version__}"]
    for name in ("triton", "helion", "sglang", "fla"):
        try:
            versions.append(f"{name} {importlib.import_module(name).__version__}")
        except (ImportError, AttributeError):
            continue
    text = [
        f"{torch.cuda.get_device_name()}, {', '.join(versions)}, copy {rate / 1e12:.2f} TB/s",
        "",
    ]
    print("#", text[0])
    measures = {
        "prefill": measure_prefill,
        "tokens": measure_tokens,
        "decode": measure_decode,
        "replay": measure_replay,
        "host": measure_host,
    }
    for what in options.what:
        text += (
            accuracy(only)
            if what == "accuracy"
            else measures[what](only, heads, options.rounds, rate)
        )
        if options.markdown:
            with open(options.markdown, "w") as file:
                file.write("\n".join(text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
