"""torch.nn modules: what calling one gives, as far as shapes go."""

from __future__ import annotations

from kdacheck.facts import Dim, TensorFacts
from kdacheck.facts.dims import symbol
from kdacheck.source.integers import as_dim
from kdacheck.source.objects import Arguments
from kdacheck.source.values import Code, Value

#: Modules that keep the shape of what they are given.
_SAME_SHAPE = frozenset(
    [
        "Identity",
        "Dropout",
        "SiLU",
        "ReLU",
        "GELU",
        "Sigmoid",
        "Tanh",
        "Softplus",
        "LogSigmoid",
        "Softmax",
        "LayerNorm",
        "RMSNorm",
        "ELU",
        "LeakyReLU",
    ]
)


def make(path: str, arguments: Arguments) -> Code | None:
    """A module object, where its class is one we know."""
    prefix, _, name = path.rpartition(".")
    if prefix not in ("torch.nn", "torch.nn.modules", "torch.nn.modules.linear"):
        return None
    if name in _SAME_SHAPE:
        return Code("torch module", (path, None))
    if name == "Linear":
        keywords = arguments.keyword_values()
        values = arguments.values()
        width = keywords.get("out_features", values[1] if len(values) > 1 else None)
        dim = as_dim(width) if width is not None else None
        return Code("torch module", (path, dim if dim is not None else symbol("out_features")))
    return None


def apply(module: Code, facts: TensorFacts | None) -> Value | None:
    """What a module makes of its first argument."""
    if facts is None:
        return None
    width: Dim | None = module.target[1]
    if not facts.shape:
        return TensorFacts(partial={0: facts.partial[0]} if 0 in facts.partial else {})
    shape = facts.shape if width is None else (*facts.shape[:-1], width)
    return TensorFacts.of(shape, dense=True if width is not None else None, device=facts.device)
