"""Times `kdacheck server`: from an edit to the diagnostics of the edited text, by a client over stdio.

    python benchmarks/server.py [--lines 1000] [--edits 60] [--bursts 10]

The text is a file of contracted calls, a few of them broken. Edits come one at a time, each once the last was answered;
then in bursts at the pace of typing, of which only the last must be answered, and nothing may be said of a text that
was replaced before the answer was sent. Exits with 1 where anything stale is said.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import psutil

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))


from benchmarks import results
from tests.server.editor import Editor

HEAD = """\
import torch
import torch.nn.functional as F
from einops import rearrange
from fla.ops.kda import chunk_kda, fused_recurrent_kda
"""

LAYER = '''

class Layer{number}(torch.nn.Module):
    """A KDA layer with packed prefill and decode."""

    def __init__(self, hidden=1024, heads=8, dim=64):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.q_proj = torch.nn.Linear(hidden, heads * dim, bias=False)
        self.k_proj = torch.nn.Linear(hidden, heads * dim, bias=False)
        self.v_proj = torch.nn.Linear(hidden, heads * dim, bias=False)
        self.f_proj = torch.nn.Linear(hidden, heads * dim, bias=False)
        self.b_proj = torch.nn.Linear(hidden, heads, bias=False)
        self.A_log = torch.nn.Parameter(torch.zeros(heads, dtype=torch.float32))
        self.dt_bias = torch.nn.Parameter(torch.zeros(heads * dim, dtype=torch.float32))

    def decode(self, hidden_states, state):
        q, k, v = (
            rearrange(proj(hidden_states), "b t (h d) -> b t h d", d=self.dim)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        return fused_recurrent_kda(
            q=q,
            k=k,
            v=v,
            g=rearrange(self.f_proj(hidden_states), "b t (h d) -> b t h d", d=self.dim),
            beta=self.b_proj(hidden_states).sigmoid(),
            A_log=self.A_log,
            dt_bias=self.dt_bias,
            initial_state=state,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
            use_gate_in_kernel=True,
        )

    def prefill(self, hidden_states, lengths):
        q, k, v = (
            rearrange(proj(hidden_states), "b t (h d) -> 1 (b t) h d", d=self.dim)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        return chunk_kda(
            q=q,
            k=k,
            v=v,
            g=rearrange(self.f_proj(hidden_states), "b t (h d) -> 1 (b t) {gate}", d=self.dim),
            beta=self.b_proj(hidden_states).sigmoid().flatten(0, 1).unsqueeze(0),
            A_log=self.A_log,
            dt_bias=self.dt_bias,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
            use_gate_in_kernel=True,
            cu_seqlens=F.pad(lengths.cumsum(0), (1, 0)),
        )
'''


def text_of(lines: int) -> str:
    """A file of at least so many lines; every fifth layer forgets to split the heads of its gate."""
    parts = [HEAD]
    while sum(part.count("\n") for part in parts) < lines:
        number = len(parts)
        gate = "(h d)" if number % 5 == 0 else "h d"
        parts.append(LAYER.format(number=number, gate=gate))
    return "".join(parts)


def percentiles(milliseconds: list[float]) -> str:
    cuts = statistics.quantiles(milliseconds, n=100, method="inclusive")
    return " | ".join(f"{value:.0f}" for value in (cuts[49], cuts[89], cuts[98], max(milliseconds)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--bursts", type=int, default=10)
    parser.add_argument("--burst", type=int, default=10, help="edits in a burst")
    parser.add_argument("--pause", type=float, default=0.08, help="seconds between those")
    results.add_option(parser)
    options = parser.parse_args()
    text = text_of(options.lines)
    print(f"{results.machine()}\n`{results.command()}`")
    folder = pathlib.Path(tempfile.mkdtemp())
    editor = Editor(folder)
    try:
        uri = editor.open(folder / "model.py", text)
        found = len(editor.findings(uri))
        if not found:
            sys.exit(f"the planted faults were not found, so times mean nothing: {editor.logged}")
        calls = text.count("_kda(")
        print(f"\n{text.count(chr(10)):,} lines, {calls} contracted calls, {found} findings\n")
        single, last, stale = [], [], 0
        before = _processor_seconds(editor)
        for number in range(options.edits):
            single.append(_edit(editor, uri, text, number))
        spent = (_processor_seconds(editor) - before) / options.edits
        for burst in range(options.bursts):
            sent: dict[int, float] = {}
            heard = len(editor.published)
            for number in range(options.burst):
                version = editor.edit(uri, _edited(text, burst * options.burst + number))
                sent[version] = time.perf_counter()
                time.sleep(options.pause)
            editor.findings(uri)
            last.append((editor.arrived[-1] - max(sent.values())) * 1000)
            for said, at in zip(editor.published[heard:], editor.arrived[heard:], strict=True):
                newer = [when for version, when in sent.items() if version > (said.version or 0)]
                # one that was on its way when the next edit was sent is not stale
                stale += bool(newer) and at - min(newer) > 0.02
        print("| | edits | median ms | 90 % | 99 % | worst |\n|---|---:|---:|---:|---:|---:|")
        print(f"| one edit | {len(single)} | {percentiles(single)} |")
        print(f"| the last of a burst | {len(last)} | {percentiles(last)} |")
        print(f"\nProcessor time of server and worker for one edit: {spent * 1000:.0f} ms.")
        print(f"Stale diagnostics: {stale}. Exit status: {editor.leave()}.")
    finally:
        editor.close()
    if options.save:
        times = {"one edit, ms": single, "the last of a burst, ms": last}
        medians = {name: statistics.median(line) for name, line in times.items()}
        worst = {
            f"{name}, 90 %": statistics.quantiles(line, n=10)[8] for name, line in times.items()
        }
        results.save("server", {**medians, **worst, "processor seconds": spent, "stale": stale})
    return 1 if stale else 0


def _processor_seconds(editor: Editor) -> float:
    """What the server and the processes below it have used so far."""
    assert editor.process is not None
    server = psutil.Process(editor.process.pid)
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return sum(time.user + time.system for time in times)


def _edit(editor: Editor, uri: str, text: str, number: int) -> float:
    start = time.perf_counter()
    editor.edit(uri, _edited(text, number))
    editor.findings(uri)
    return (editor.arrived[-1] - start) * 1000


def _edited(text: str, number: int) -> str:
    """The text with something typed in a method in the middle of it: a statement, behind which all lines move."""
    half = text.index("        return", len(text) // 2)
    return f"{text[:half]}        {'typing' * (number % 7)}_{number} = lengths\n{text[half:]}"


if __name__ == "__main__":
    sys.exit(main())
