"""Right programs that look wrong: silent as they stand, and reported once the line that mends them is gone.

Every program passes batch 2 with offsets but for the lines that end in `# mends`. The second test replaces those lines
by `pass`, or by what stands behind `else:`, so that silence never comes from a linter that has lost sight of the call.
"""

from __future__ import annotations

import pathlib
import re
import textwrap

import pytest

from kdacheck.source import analyse

HEADER = """\
import functools
import sys
import types
from dataclasses import dataclass

import pytest
import torch
from torch import nn

import fla.ops.kda as kda
from fla.ops.kda import chunk_kda
from elsewhere import configure, fallback, flatten, other

CU = torch.empty(int(other()), dtype=torch.int64)

"""

CASES = """
### a name rebound by `nonlocal` in a nested function
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    def fold():
        nonlocal q  # mends
        q = q.view(1, 128, 4, 32)
    fold()
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a nested function reads what its sibling rebinds
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    def fold():
        nonlocal q  # mends
        q = q.view(1, 128, 4, 32)
    def call():
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    fold()
    return call()

### a global rebound by a function
BATCH = 2
def small():
    global BATCH  # mends
    BATCH = 1
def run(k, v, g, beta, cu):
    small()
    return chunk_kda(torch.randn(BATCH, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a module's dict changed by a function
SIZES = {"batch": 2}
def small():
    SIZES["batch"] = 1  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(SIZES["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a module's dict updated by a function
SIZES = {"batch": 2}
def small():
    SIZES.update(batch=1)  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(SIZES["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a module's list changed by a function
SHAPE = [2, 64, 4, 32]
def small():
    SHAPE[0] = 1  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(*SHAPE), k, v, g, beta, cu_seqlens=CU)

### names written through `globals()`
BATCH = 2
def small():
    globals()["BATCH"] = 1  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(BATCH, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### names written by `exec`
BATCH = 2
exec("BATCH = 1")  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(BATCH, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a star import may rebind what stands before it
BATCH = 2
from settings import *  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(BATCH, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a default argument is the value of its name when the function was made
def run(k, v, g, beta, cu):
    batch = 2
    batch = 1  # mends
    def make(size=batch):
        return torch.randn(size, 64, 4, 32)
    batch = 2
    return chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)

### a mutable default keeps what earlier calls put into it
def run(k, v, g, beta, cu, seen):
    def make(more, sizes=[2, 64, 4, 32]):  # mends, else: def make(more, sizes=(2, 64, 4, 32)):
        out = torch.randn(*sizes)
        sizes[0] = 1  # mends
        return out
    make(0)
    return chunk_kda(make(1), k, v, g, beta, cu_seqlens=CU)

### a closure sees the last value of a name, assigned on a branch after it was made
def make(flag):
    q = torch.randn(2, 64, 4, 32)
    def call(k, v, g, beta, cu):
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    if flag:
        q = flatten(q)  # mends
    return call
def run(k, v, g, beta, cu):
    return make(True)(k, v, g, beta, cu)

### a lambda sees the last value of a name
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    call = lambda: chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
    q = q.view(1, 128, 4, 32)  # mends
    return call()

### what a guard proves inside an argument does not hold in the call
def run(q, k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    call = lambda unused: chunk_kda(q, k, v, g, beta, cu_seqlens=cu)
    assert cu is not None, ""
    cu = other(cu)  # mends
    return call(flatten(cu) if cu is not None else None)

### a generator is run when it is read, not where it is written
def run(g, beta, cu):
    batch = 2
    rows = (torch.randn(batch, 64, 4, 32) for _ in range(3))  # mends, else: rows = [torch.randn(batch, 64, 4, 32)] * 3
    batch = 1  # mends
    q, k, v = rows
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a dict emptied by a helper of the file
def strip(options):
    options["cu_seqlens"] = None  # mends
    return options
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    options = {"cu_seqlens": CU}
    strip(options)
    return chunk_kda(q, k, v, g, beta, **options)

### a dict popped by a helper of the file
def strip(options):
    options.pop("cu_seqlens")  # mends
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    options = {"cu_seqlens": CU}
    strip(options)
    return chunk_kda(q, k, v, g, beta, **options)

### a dict handed to an unknown function, read by key
def run(k, v, g, beta, cu):
    sizes = {"batch": 2}
    configure(sizes)  # mends
    return chunk_kda(torch.randn(sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a dict inside a dict
def run(k, v, g, beta, cu):
    config = {"sizes": {"batch": 2}}
    config["sizes"]["batch"] = 1  # mends
    return chunk_kda(torch.randn(config["sizes"]["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a dict inside a dict handed to an unknown function
def run(k, v, g, beta, cu):
    config = {"sizes": {"batch": 2}}
    configure(config)  # mends
    return chunk_kda(torch.randn(config["sizes"]["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### the inner dict handed to an unknown function
def run(k, v, g, beta, cu):
    config = {"sizes": {"batch": 2}}
    configure(config["sizes"])  # mends
    return chunk_kda(torch.randn(config["sizes"]["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### two names of one dict
def run(k, v, g, beta, cu):
    sizes = {"batch": 2}
    alias = sizes
    alias["batch"] = 1  # mends
    return chunk_kda(torch.randn(sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### two names of one dict, changed in place by an operator
def run(k, v, g, beta, cu):
    sizes = {"batch": 2}
    alias = sizes
    alias |= {"batch": 1}  # mends
    return chunk_kda(torch.randn(sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a list changed by index
def run(k, v, g, beta, cu):
    shape = [2, 64, 4, 32]
    shape[0] = 1  # mends
    return chunk_kda(torch.randn(shape), k, v, g, beta, cu_seqlens=CU)

### a list changed through a loop's index
def run(k, v, g, beta, cu, axes):
    shape = [2, 64, 4, 32]
    for axis in axes:
        shape[axis] = 1  # mends
    return chunk_kda(torch.randn(shape), k, v, g, beta, cu_seqlens=CU)

### a list reversed in place
def run(k, v, g, beta, cu):
    shape = [2, 64, 4, 1]
    shape.reverse()  # mends
    return chunk_kda(torch.randn(shape), k, v, g, beta, cu_seqlens=CU)

### a list that an insert makes longer
def run(k, v, g, beta, cu):
    shape = [2, 64, 4, 32]
    shape.insert(0, 1)  # mends
    return chunk_kda(torch.randn(shape[:4]), k, v, g, beta, cu_seqlens=CU)

### a list extended in place by an operator, through another name
def run(k, v, g, beta, cu):
    batches = [2]
    alias = batches
    alias += [1]  # mends
    return chunk_kda(torch.randn(batches[-1], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a list with an append
def run(k, v, g, beta, cu):
    batches = [2]
    batches.append(1)  # mends
    return chunk_kda(torch.randn(batches[-1], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a list handed to an unknown function
def run(k, v, g, beta, cu):
    shape = [2, 64, 4, 32]
    configure(shape)  # mends
    return chunk_kda(torch.randn(shape), k, v, g, beta, cu_seqlens=CU)

### a list handed to an unknown method
def run(k, v, g, beta, cu, model):
    shape = [2, 64, 4, 32]
    model.configure(shape)  # mends
    return chunk_kda(torch.randn(shape), k, v, g, beta, cu_seqlens=CU)

### a length that a pop has changed
def run(k, v, g, beta, cu, rows):
    if len(rows) == 2:
        rows.pop()  # mends
        return chunk_kda(torch.randn(len(rows), 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a counter that is changed in a loop
def run(k, v, g, beta, cu, xs):
    batch = 2
    for x in xs:
        batch = x  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a value that needs three rounds of a loop to arrive
def run(k, v, g, beta, cu, xs, new):
    a = b = c = d = torch.randn(2, 64, 4, 32)
    for x in xs:
        a = b
        b = c
        c = d
        d = new  # mends
    return chunk_kda(a, k, v, g, beta, cu_seqlens=CU)

### a dict filled by a loop
def run(k, v, g, beta, cu, xs):
    sizes = {"batch": 2}
    for x in xs:
        sizes["batch"] = sizes["batch"] + x  # mends
    return chunk_kda(torch.randn(sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a while loop that counts down
def run(k, v, g, beta, cu):
    batch = 4
    while other():
        batch = batch // 2  # mends
        if batch == 7:
            break
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a while loop left by a break
def run(k, v, g, beta, cu):
    batch = 2
    while True:
        batch = other(batch)  # mends
        break
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a walrus in a comprehension binds outside it
def run(k, v, g, beta, cu, xs):
    q = torch.randn(2, 64, 4, 32)
    found = [
        (q := x)  # mends, else: x
        for x in xs
    ] if xs else []
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a walrus on one side of `and`
def run(k, v, g, beta, cu, flag):
    q = torch.randn(2, 64, 4, 32)
    flag and (
        q := flatten(q)  # mends, else: None
    )
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a call on one side of `and` that changes a dict
def run(k, v, g, beta, cu, flag):
    q = torch.randn(2, 64, 4, 32)
    options = {"cu_seqlens": CU}
    flag and (
        options.update(cu_seqlens=None)  # mends, else: None
    )
    return chunk_kda(q, k, v, g, beta, **options)

### a conditional expression that changes a dict
def run(k, v, g, beta, cu, flag):
    options = {"batch": 2}
    (
        options.update(batch=1) if flag else  # mends, else:
        None
    )
    return chunk_kda(torch.randn(options["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a negative number passes `< 0`
def run(k, v, g, beta, cu, n):
    batch = 2
    if n < 0:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a number that is annotated as int may be negative
def run(k, v, g, beta, cu, n: int):
    batch = 2
    if n < 0:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a remainder may be negative
def run(k, v, g, beta, cu, n, m):
    batch = 2
    if n % m < 0:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a range that counts down goes below its start
def run(k, v, g, beta, cu, n: int):
    batch = 2
    if n >= 5:
        for i in range(n, 0, -1):
            if i < 3:
                batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### an annotated parameter with None for a default
def run(
    k, v, g, beta,
    cu: torch.Tensor
    = None  # mends, else:
):
    if cu is None: raise ValueError
    return None
def call(
    k, v, g, beta,
    cu: torch.Tensor
    = None  # mends, else:
):
    return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=cu)

### isinstance with the type of None
def run(k, v, g, beta, cu):
    if isinstance(
        cu,
        (torch.Tensor, type(None))  # mends, else: torch.Tensor
    ):
        return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=cu)

### an attribute that another method assigns
class Layer:
    def __init__(self):
        self.batch = 2
    def small(self):
        self.batch = 1  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### an attribute assigned on the object from outside
class Layer:
    def __init__(self):
        self.batch = 2
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
layer = Layer()
layer.batch = 1  # mends

### an attribute assigned on the class from outside
class Layer:
    batch = 2
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
Layer.batch = 1  # mends

### an attribute set by name
class Layer:
    def __init__(self):
        self.batch = 2
    def set(self, name, value):
        setattr(self, name, value)  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### an attribute set by name in the constructor
class Layer:
    def __init__(self, **options):
        self.batch = 2
        for name, value in options.items():
            setattr(self, name, value)  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### attributes updated through `__dict__`
class Layer:
    def __init__(self, **options):
        self.batch = 2
        self.__dict__.update(options)  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### attributes updated through `vars`
class Layer:
    def __init__(self, **options):
        self.batch = 2
        vars(self).update(options)  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a dict in an attribute, changed by another method
class Layer:
    def __init__(self):
        self.sizes = {"batch": 2}
    def small(self):
        self.sizes["batch"] = 1  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a list in an attribute, changed by another method
class Layer:
    def __init__(self):
        self.shape = [2, 64, 4, 32]
    def small(self):
        self.shape.reverse()  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.shape), k, v, g, beta, cu_seqlens=CU)

### an attribute assigned on one branch, over one of the class
class Layer:
    batch = 2
    def __init__(self, flag):
        if flag:
            self.batch = 1  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a class attribute that a subclass overrides
class Layer:
    batch = 2
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
class Packed(Layer):
    batch = 1  # mends

### a method that a subclass overrides
class Layer:
    def make(self):
        return torch.randn(2, 64, 4, 32)
    def run(self, k, v, g, beta, cu):
        return chunk_kda(self.make(), k, v, g, beta, cu_seqlens=CU)
class Packed(Layer):
    make = staticmethod(other)  # mends

### an overriding method
class Layer:
    def make(self):
        return torch.randn(2, 64, 4, 32)
    def run(self, k, v, g, beta, cu):
        return chunk_kda(self.make(), k, v, g, beta, cu_seqlens=CU)
class Packed(Layer):
    def make(self): return torch.randn(1, 128, 4, 32)  # mends

### a method replaced on the class
class Layer:
    def make(self):
        return torch.randn(2, 64, 4, 32)
    def run(self, k, v, g, beta, cu):
        return chunk_kda(self.make(), k, v, g, beta, cu_seqlens=CU)
Layer.make = other  # mends

### a method defined on a branch
class Layer:
    def make(self):
        return torch.randn(2, 64, 4, 32)
    if sys.platform == "linux":
        def make(self): return other()  # mends
    else:
        make = make
    def run(self, k, v, g, beta, cu):
        return chunk_kda(self.make(), k, v, g, beta, cu_seqlens=CU)

### a property with a setter of its own mind
class Layer:
    def __init__(self):
        self.batch = 2
    @property  # mends, else:
    def batch(self): return 1  # mends
    @batch.setter  # mends, else:
    def batch(self, value): pass  # mends
    def run(self, k, v, g, beta, cu):
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a frozen dataclass that sets its field itself
@dataclass(frozen=True)
class Sizes:
    batch: int = 2
    def __post_init__(self):
        object.__setattr__(self, "batch", 1)  # mends
        assert True
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(Sizes().batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a dataclass object changed after it is made
@dataclass
class Sizes:
    batch: int = 2
def run(k, v, g, beta, cu):
    sizes = Sizes()
    sizes.batch = 1  # mends
    return chunk_kda(torch.randn(sizes.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### an object handed to an unknown function
@dataclass
class Sizes:
    batch: int = 2
def run(k, v, g, beta, cu):
    sizes = Sizes()
    configure(sizes)  # mends
    return chunk_kda(torch.randn(sizes.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a method of an unknown base class may change the object
class Layer(other.Base):
    def run(self, k, v, g, beta, cu):
        self.batch = 2
        self.prepare()  # mends
        return chunk_kda(torch.randn(self.batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a buffer resized through `.data`
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    q.data = q.data.view(1, 128, 4, 32)  # mends
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a tensor reshaped in place
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    q.resize_(1, 128, 4, 32)  # mends
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a tensor reshaped in place under a guard
def run(k, v, g, beta, cu, n: int):
    q = torch.randn(2, 64, n, 32)
    if n == 4:
        q.resize_(1, 128, 4, 32)  # mends
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a tensor reshaped in place by a helper of the file
def fold(t):
    t.resize_(1, 128, 4, 32)  # mends
    return None
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    fold(q)
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a rebinding inside try, between two exceptions
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    try:
        q = flatten(q)  # mends
        configure()
        q = torch.randn(2, 64, 4, 32)
    except ValueError:
        pass
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a dict changed inside try
def run(k, v, g, beta, cu):
    sizes = {"batch": 2}
    try:
        sizes["batch"] = 1  # mends
        configure()
        sizes = {"batch": 2}
    except ValueError:
        pass
    return chunk_kda(torch.randn(sizes["batch"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a rebinding in finally
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    try:
        configure()
    finally:
        q = flatten(q)  # mends
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a name bound by a mapping pattern
def run(k, v, g, beta, cu, options):
    batch = 2
    match options:
        case {"a": 1, **batch}:  # mends, else: case {"a": 1}:
            configure(batch)
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a branch that is never taken
def run(k, v, g, beta, cu):
    q = torch.randn(2, 64, 4, 32)
    if cu is None or True:
        return None  # mends
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a set has no order
def run(k, v, g, beta, cu):
    batches = list(
        {2, 1}  # mends, else: [2]
    )
    return chunk_kda(torch.randn(batches[0], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### equal members of a set are one
def run(q, k, v, g, beta, cu, n: int):
    batch = 2
    if len({n, n}) == 1:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### `max` under another name
def run(k, v, g, beta, cu):
    largest = min
    largest = max  # mends
    return chunk_kda(torch.randn(3 - largest(1, 2), 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a shadowed builtin
def len(x): return 1  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(len((1, 2)), 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a kernel replaced on its module
kda.chunk_kda = fallback  # mends
def run(k, v, g, beta, cu):
    return kda.chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a kernel replaced by a mock
chunk_kda = other.Mock()  # mends
def run(k, v, g, beta, cu):
    return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a helper whose decorator changes what it returns
@functools.cache
@fallback  # mends, else:
def make():
    return torch.randn(2, 64, 4, 32)
def run(k, v, g, beta, cu):
    return chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)

### a helper that is a coroutine gives nothing away until awaited
def run(k, v, g, beta, cu):
    @fallback  # mends, else:
    def make():
        return torch.randn(2, 64, 4, 32)
    return chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)

### a helper redefined later in the file
def make():
    return torch.randn(2, 64, 4, 32)
def run(k, v, g, beta, cu):
    return chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)
make = other  # mends

### a helper that returns early
def make(flag):
    if flag:
        return other()  # mends
    return torch.randn(2, 64, 4, 32)
def run(k, v, g, beta, cu, flag):
    return chunk_kda(make(flag), k, v, g, beta, cu_seqlens=CU)

### a recursive helper
def make(n):
    if n > 3:
        return make(n - 1)[:1]  # mends
    return torch.randn(2, 64, 4, 32)
def run(k, v, g, beta, cu, n):
    return chunk_kda(make(n), k, v, g, beta, cu_seqlens=CU)

### a partial whose keyword is overridden by unknown ones
def run(k, v, g, beta, cu, **options):
    call = functools.partial(chunk_kda, cu_seqlens=CU)
    return call(
        torch.randn(2, 64, 4, 32), k, v, g, beta,
        **options  # mends, else:
    )

### a partial whose keyword is overridden on a branch
def run(k, v, g, beta, cu, dense):
    call = functools.partial(chunk_kda, cu_seqlens=CU)
    options = {}
    if dense:
        options["cu_seqlens"] = None  # mends
    return call(torch.randn(2, 64, 4, 32), k, v, g, beta, **options)

### expected to fail, in a nested function
def test_two_rows(k, v, g, beta, cu):
    def call():
        return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
    pytest.raises(ValueError, call)  # mends

### expected to fail, in a nested function called under raises
def test_two_rows(k, v, g, beta, cu):
    def call():
        return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
    context = open("x")
    context = pytest.raises(ValueError)
    if True:
        with pytest.raises(ValueError): call()  # mends

### expected to fail, in a helper of the file
def call(k, v, g, beta):
    return chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
def test_two_rows(k, v, g, beta):
    with pytest.raises(ValueError): call(k, v, g, beta)  # mends

### expected to fail, in a lambda
class TestRows(other.TestCase):
    def test_two_rows(self, k, v, g, beta):
        call = lambda: chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
        self.assertRaises(ValueError, call); return  # mends
        call()

### expected to fail, with the expectation as a parameter
@pytest.mark.parametrize("batch, expectation", [(2, pytest.raises(ValueError))])
def test_two_rows(batch, expectation, k, v, g, beta):
    with expectation:  # mends, else: if True:
        chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a test that is expected to fail
@pytest.mark.xfail  # mends, else:
def test_two_rows(k, v, g, beta):
    chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a class of tests that are expected to fail
@pytest.mark.xfail(reason="not yet")  # mends, else:
class TestRows:
    def test_two_rows(self, k, v, g, beta):
        chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a module of tests that are expected to fail
pytestmark = pytest.mark.xfail  # mends
def test_two_rows(k, v, g, beta):
    chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a parameter that goes through a fixture
@pytest.mark.parametrize(
    "batch", [2],
    indirect=True,  # mends, else:
)
def test_rows(batch, k, v, g, beta):
    chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### one case of a parameter is right
@pytest.mark.parametrize("batch", [
    2,
    1,  # mends, else:
])
def test_rows(batch, k, v, g, beta):
    chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a helper's parameter has the name of a fixture
@pytest.fixture
def q():
    return torch.randn(2, 64, 4, 32)
def helper(q, k, v, g, beta, cu):
    return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)
def test_rows(q, k, v, g, beta, cu):
    q = q.view(1, 128, 4, 32)  # mends
    helper(q, k, v, g, beta, cu)

### a fixture overridden in the class of the test
@pytest.fixture
def batch():
    return 2
class TestRows:
    @pytest.fixture  # mends, else:
    def batch(self): return other()  # mends
    def test_rows(self, batch, k, v, g, beta):
        chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a fixture replaces the kernel
@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(kda, "chunk_kda", other)  # mends
def test_rows(fake, k, v, g, beta):
    kda.chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### the author folds what has more than one row
def run(q, k, v, g, beta):
    if q.shape[0] > 1:
        q = flatten(q)  # mends
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### a value from the second case of a match
def run(k, v, g, beta, cu, mode):
    batch = 2
    match mode:
        case "packed":
            batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### elements of one comprehension have sizes of their own
def run(k, v, g, beta, xs):
    rows = [torch.randn(x, 64, 4, 32) for x in xs]
    q = rows[0]
    if q.shape[0] == 2:
        q = rows[1]  # mends
        return chunk_kda(q, k, v, g, beta, cu_seqlens=CU)

### the dict yielded is changed by whoever receives it
@pytest.fixture
def outcome(k, v, g, beta):
    options = {"cu_seqlens": CU}
    yield options  # mends
    chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, **options)

### a dict popped inside a comparison
def run(k, v, g, beta, **options):
    options = {"dense": True, **options}
    batch = 2
    first = options.pop("dense", None) is None
    if not first:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a counter in a walrus is counted once
def run(k, v, g, beta):
    n = 0
    two = (n := n + 1) == 2
    batch = 2
    if n == 1:
        batch = 1  # mends
    return chunk_kda(torch.randn(batch, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a name from another file may be None
from settings import OFFSETS  # mends, else: OFFSETS = CU
def run(k, v, g, beta):
    chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=OFFSETS)

### a name from another file may be false
from settings import PACKED  # mends, else: PACKED = True
rows = 1
if PACKED:
    rows = 2
def run(k, v, g, beta):
    chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a test for None of a name from another file
from settings import MASK  # mends, else: MASK = 0
def run(k, v, g, beta):
    rows = 2
    if MASK is None:
        rows = 1
    chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### an attribute deleted shows that of the class
class Layer:
    rows = 1
    def run(self, k, v, g, beta):
        self.rows = 2
        del self.rows  # mends
        chunk_kda(torch.randn(self.rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### what finally changes after the value to return is chosen
def make(sizes):
    try:
        return sizes
    finally:
        sizes["rows"] = 1  # mends
def run(k, v, g, beta):
    rows = make({"rows": 2})["rows"]
    chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### finally returns in place of try
def make():
    try:
        return torch.randn(2, 64, 4, 32)
    finally:
        return other()  # mends
def run(k, v, g, beta):
    chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)

### expected to fail, caught by the test itself
def test_two_rows(k, v, g, beta):
    try:
        chunk_kda(torch.randn(2, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
    except ValueError:
        return  # mends, else: raise
    raise AssertionError("not refused")

### an attribute of an object that the constructor makes
class Sizes:
    rows = 2
    def __init__(self):
        self.tokens = 64
        self.rows = 2
class Layer:
    def __init__(self):
        self.sizes = Sizes()
    def shrink(self):
        self.sizes.rows = 1  # mends
    def run(self, k, v, g, beta):
        chunk_kda(torch.randn(self.sizes.rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a dict with defaults that the caller may override
def run(k, v, g, beta, **options):
    sizes = {
        "rows": 2,
        **options,  # mends, else:
    }
    chunk_kda(torch.randn(sizes["rows"], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### a sum with a start
def run(k, v, g, beta):
    rows = sum((1, 1), start=-1)  # mends, else: rows = sum((1, 1))
    chunk_kda(torch.randn(rows, 64, 4, 32), k, v, g, beta, cu_seqlens=CU)

### the last of what a loop appended
def run(k, v, g, beta, xs):
    rows = [2]
    for x in xs:
        rows.append(x)  # mends
    chunk_kda(torch.randn(rows[-1], 64, 4, 32), k, v, g, beta, cu_seqlens=CU)
"""


def programs() -> list[tuple[str, str]]:
    parts = re.split(r"^### (.+)\n", CASES, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def codes(program: str) -> list[str]:
    return [
        f"{finding.code} at {finding.location.row}: {finding.message}"
        for finding in analyse("case.py", program.encode(), {})
    ]


def without_mending(program: str) -> str:
    """The program with its mending lines replaced by what they name, else by `pass`."""

    def replaced(match: re.Match[str]) -> str:
        instead = match["instead"]
        return match["indent"] + ("pass" if instead is None else instead.strip())

    line = r"^(?P<indent> *).*# mends(?:, else:(?P<instead>.*))?$"
    return re.sub(line, replaced, program, flags=re.MULTILINE)


@pytest.mark.parametrize(("title", "program"), programs(), ids=[t for t, _ in programs()])
def test_a_right_program_is_silent(title: str, program: str) -> None:
    assert codes(HEADER + program) == []


@pytest.mark.parametrize(("title", "program"), programs(), ids=[t for t, _ in programs()])
def test_without_its_mending_line_it_is_reported(title: str, program: str) -> None:
    broken = without_mending(program)
    compile(textwrap.dedent(broken), title, "exec")
    assert any(code.startswith("KDA001") for code in codes(HEADER + broken)), broken


PARAMETERS = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.A_log = nn.Parameter(torch.zeros(4))
    def forward(self, k, v, g, beta):
        {local}
        q = torch.randn(1, 64, 4, 32, device="cuda")
        return chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, A_log={A_log})
"""


def test_parameters_of_a_module_are_where_the_module_is() -> None:
    here = PARAMETERS.format(local="A_log = torch.zeros(4)", A_log="A_log")
    assert [code[:6] for code in codes(HEADER + here)] == ["KDA206"]
    assert codes(HEADER + PARAMETERS.format(local="pass", A_log="self.A_log")) == []


AUTOCAST = """
def run(k, v, g, beta, s, out, A, bias):
    with {context}:
        q = torch.randn(1, 64, 8, 128) @ torch.randn(128, 128)
    flash_kda.fwd(q, k, v, g, beta, s, out, A, bias, -5.0)
"""


def test_autocast_chooses_dtypes() -> None:
    header = HEADER + "import flash_kda\n"
    assert [code[:6] for code in codes(header + AUTOCAST.format(context="torch.no_grad()"))] == [
        "KDA205"
    ]
    assert codes(header + AUTOCAST.format(context='torch.autocast("cuda")')) == []


HELPERS = """
import torch
ROWS = 2
def make():
    return torch.randn(ROWS, 64, 4, 32)
"""
USER = (
    HEADER
    + """
from package.helpers import make
def run(k, v, g, beta):
    chunk_kda(make(), k, v, g, beta, cu_seqlens=CU)
"""
)


def test_a_global_that_another_file_rebinds(tmp_path: pathlib.Path) -> None:
    def found(folder: str, helpers: str) -> list[str]:
        package = tmp_path / folder / "package"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "helpers.py").write_text(helpers)
        user = package / "user.py"
        user.write_text(USER)
        return [finding.code for finding in analyse(str(user), user.read_bytes(), {})]

    assert found("as it is", HELPERS) == ["KDA001"]
    assert found("rebound", HELPERS + "def fold():\n    global ROWS\n    ROWS = 1\n") == []
    assert found("decorated", HELPERS.replace("def make():", "@register\ndef make():")) == []
