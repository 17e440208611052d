"""Mistakes that cross files: wrappers, classes, constants and re-exports of one project."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdacheck.finding import Finding
from kdacheck.linter import forget, lint

LAYERS = """\
from fla.ops.kda import chunk_kda

class Attention:
    def __init__(self, heads):
        self.heads = heads

    def forward(self, q, k, v, g, beta, cu_seqlens):
        return self._prefill(q, k, v, g, beta, cu_seqlens)

    def _prefill(self, q, k, v, g, beta, cu):
        return chunk_kda(q, k, v, g, beta, cu_seqlens=cu)

def layer(q, k, v, g, beta, cu_seqlens=None):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=cu_seqlens)
"""


def project(folder: Path, **files: str) -> list[Finding]:
    package = folder / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text(files.pop("init", ""))
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    return lint([str(folder)]).findings


CALL = """\
import torch
{imports}

def run(lengths, g, beta):
    q = torch.randn({rows}, 128, 4, 64)
    cu = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    return {call}
"""


@pytest.mark.parametrize(
    ("imports", "call", "chain"),
    [
        ("from .layers import layer", "layer(q, q, q, g, beta, cu_seqlens=cu)", "layer"),
        ("from pkg.layers import layer as f", "f(q, q, q, g, beta, cu)", "layer"),
        ("from . import layers", "layers.layer(q, q, q, g, beta, cu)", "layer"),
        ("import pkg.layers", "pkg.layers.layer(q, q, q, g, beta, cu)", "layer"),
        (
            "from .layers import Attention",
            "Attention(4).forward(q, q, q, g, beta, cu)",
            "Attention.forward -> Attention._prefill",
        ),
    ],
)
def test_callers_in_other_files_are_judged(
    tmp_path: Path, imports: str, call: str, chain: str
) -> None:
    model = CALL.format(imports=imports, rows=2, call=call)
    (finding,) = project(tmp_path, layers=LAYERS, model=model)
    assert finding.code == "KDA001"
    assert finding.filename.endswith("model.py")
    assert finding.location.row == 7
    assert f"(via {chain})" in finding.message
    assert finding.origins[-1].filename.endswith("layers.py")


@pytest.mark.parametrize("imports", ["from .layers import layer", "from . import layers"])
def test_right_callers_are_silent(tmp_path: Path, imports: str) -> None:
    name = "layer" if "import layer" in imports and "layers import" in imports else "layers.layer"
    model = CALL.format(imports=imports, rows=1, call=f"{name}(q, q, q, g, beta, cu)")
    assert project(tmp_path, layers=LAYERS, model=model) == []


def test_a_package_hands_a_wrapper_on(tmp_path: Path) -> None:
    model = CALL.format(imports="from pkg import layer", rows=2, call="layer(q, q, q, g, beta, cu)")
    found = project(tmp_path, init="from .layers import layer\n", layers=LAYERS, model=model)
    assert [finding.code for finding in found] == ["KDA001"]


def test_a_project_hands_a_kernel_on(tmp_path: Path) -> None:
    model = CALL.format(
        imports="from .kernels import chunk_kda",
        rows=2,
        call="chunk_kda(q, q, q, g, beta, cu_seqlens=cu)",
    )
    kernels = "from fla.ops.kda import chunk_kda\n"
    assert [f.code for f in project(tmp_path, kernels=kernels, model=model)] == ["KDA001"]


@pytest.mark.parametrize(("rows", "codes"), [(1, []), (3, ["KDA001"])])
def test_constants_come_from_other_files(tmp_path: Path, rows: int, codes: list[str]) -> None:
    model = CALL.format(
        imports="from fla.ops.kda import chunk_kda\nfrom .sizes import ROWS",
        rows="ROWS",
        call="chunk_kda(q, q, q, g, beta, cu_seqlens=cu)",
    )
    found = project(tmp_path, sizes=f"ROWS = {rows}\n", model=model)
    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("body", "codes"),
    [("x.reshape(1, -1, *x.shape[2:])", []), ("x.unflatten(1, (2, 64)).flatten(1, 2)", ["KDA001"])],
)
def test_helpers_in_other_files_are_followed(tmp_path: Path, body: str, codes: list[str]) -> None:
    model = CALL.format(
        imports="from fla.ops.kda import chunk_kda\nfrom .shapes import shaped",
        rows=2,
        call="chunk_kda(shaped(q), shaped(q), shaped(q), g, beta, cu_seqlens=cu)",
    )
    found = project(tmp_path, shapes=f"def shaped(x):\n    return {body}\n", model=model)
    assert [finding.code for finding in found] == codes


def test_a_wrapper_that_is_wrong_by_itself_is_told_there_alone(tmp_path: Path) -> None:
    wrong = LAYERS.replace("cu_seqlens=cu_seqlens)", "cu_seqlens=cu_seqlens, dtbias=None)")
    model = CALL.format(
        imports="from .layers import layer", rows=1, call="layer(q, q, q, g, beta, cu)"
    )
    (finding,) = project(tmp_path, layers=wrong, model=model)
    assert finding.code == "KDA501"
    assert finding.filename.endswith("layers.py")


def test_files_that_import_each_other_come_to_an_end(tmp_path: Path) -> None:
    one = "from .two import g\nfrom fla.ops.kda import chunk_kda\n\ndef f(q):\n    return g(chunk_kda(q, q, q, q, q[..., 0])[0])\n"
    two = "from .one import f\n\ndef g(q):\n    return f(q.reshape(1, 2, 3, 4))\n"
    assert project(tmp_path, one=one, two=two) == []


def test_the_answer_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    calls = {
        f"model{i}": CALL.format(
            imports="from .layers import layer", rows=1 + i % 2, call="layer(q, q, q, g, beta, cu)"
        )
        for i in range(8)
    }
    found = project(tmp_path, layers=LAYERS, **calls)
    assert len(found) == 4
    assert lint([str(tmp_path)], jobs=1).findings == found == lint([str(tmp_path)], jobs=3).findings


WRITTEN = CALL.format(
    imports="from .layers import layer", rows=2, call="layer(q, q, q, g, beta, cu)"
)


@pytest.mark.parametrize("everything", [False, True])
def test_a_file_that_was_forgotten_is_read_anew(tmp_path: Path, everything: bool) -> None:
    (wrong,) = project(tmp_path, layers=LAYERS, model=WRITTEN)
    assert wrong.code == "KDA001"
    layers, model = tmp_path / "pkg" / "layers.py", str(tmp_path / "pkg" / "model.py")
    layers.write_text(LAYERS.replace("cu_seqlens=cu_seqlens)", "cu_seqlens=None)"))
    forget(None if everything else str(layers))
    assert lint([model, str(layers)]).findings == []


def test_a_file_that_was_made_or_removed_is_seen(tmp_path: Path) -> None:
    assert project(tmp_path, model=WRITTEN) == []
    layers = tmp_path / "pkg" / "layers.py"
    layers.write_text(LAYERS)
    forget(str(layers))
    assert [f.code for f in lint([str(tmp_path)]).findings] == ["KDA001"]
    layers.unlink()
    forget(str(layers))
    assert lint([str(tmp_path)]).findings == []
