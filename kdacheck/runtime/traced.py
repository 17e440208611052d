"""What a call is given while torch.compile traces it, read without a guard and without a node in the graph.

Dynamo runs `comptime` functions as it traces, and what they look at leaves nothing behind. An argument that was not
used yet is still the real one; of the others the fake tensor is known, whose sizes stand for those of this very call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from kdacheck.runtime.report import Place


class Untraced:
    """Stands for an argument of which tracing tells nothing."""


UNTRACED = Untraced()


def call_of(context: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the wrapper that is being traced, from its variables `args` and `keywords`."""
    args = _variable(context.get_local("args"))
    keywords = _variable(context.get_local("keywords"))
    return (
        tuple(_value(item) for item in args.items),
        {key.vt.as_python_constant(): _value(item) for key, item in keywords.items.items()},
    )


def _variable(found: Any) -> Any:
    variable = found._i_will_not_complain_if_bc_breaks_VariableTracker()
    # the tuple and the dict are of the call itself: to realize them asks nothing of what they hold
    return variable.realize()


def _value(variable: Any) -> Any:
    is_realized = getattr(variable, "is_realized", None)
    if is_realized is not None:
        if not is_realized():
            return variable.original_value()
        variable = variable.unwrap()
    if variable.is_python_constant():
        return variable.as_python_constant()
    try:
        return variable.as_proxy().node.meta["example_value"]
    except Exception:
        # Dynamo raises what it likes for what is no node of the graph
        return UNTRACED


def frames(context: Any) -> Iterator[Place]:
    """The functions that are being traced, innermost first."""
    translator = _translator(context)
    while translator is not None:
        code = translator.f_code
        yield code.co_filename, translator.lineno, code.co_name
        translator = getattr(translator, "parent", None)


def give_up(context: Any, text: str) -> NoReturn:
    """End the trace of a broken call: the code that makes it is run as it is, and raises there.

    Where that cannot be, in an export, or inside `cond` or `vmap` where it has to be one graph, Dynamo's
    own error says the text.
    """
    import torch
    from torch._dynamo.exc import SkipFrame, Unsupported

    translator = _translator(context)
    inside = getattr(translator.output.current_tracer, "parent", None) is not None
    inside = inside or torch._C._functorch.peek_interpreter_stack() is not None  # type: ignore[attr-defined]
    if translator.export or (translator.one_graph and inside):
        raise Unsupported(text)
    raise SkipFrame(text)


def kept_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, out of reach of Dynamo with all that it calls."""
    import torch

    return torch.compiler.disable(function)


def left_alone(function: Callable[..., Any]) -> None:
    """Have Dynamo not compile the function itself."""
    from torch._dynamo.decorators import skip

    skip(function)


def _translator(context: Any) -> Any:
    return context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
