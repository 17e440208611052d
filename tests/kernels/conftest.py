from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch", reason="the kernels extra is not installed")
pytest.importorskip("jaxtyping", reason="the kernels extra is not installed")


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny products: more threads only get in each other's way."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def cpu_products():
    """torch has no CPU kernel for the product with an output dtype that Helion's interpreter asks for."""
    library = torch.library.Library("aten", "IMPL")
    try:
        for name in ("mm.dtype", "bmm.dtype"):
            library.impl(name, lambda a, b, dtype: a.to(dtype) @ b.to(dtype), "CPU")
    except RuntimeError:  # a torch that has it
        pass
    yield
    library._destroy()


@pytest.fixture
def interpreted(cpu_products, monkeypatch):
    """Helion kernels run eagerly, and memory nobody wrote is NaN."""
    pytest.importorskip("helion", reason="the kernels extra is not installed")
    from kdacheck.kernels import launch

    monkeypatch.setitem(os.environ, "HELION_INTERPRET", "1")
    launch._kernel.cache_clear()
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)
    launch._kernel.cache_clear()
