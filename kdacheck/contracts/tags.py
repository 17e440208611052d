"""Tags of `TensorFacts.tags`: what is certainly so about the making of a tensor, and that its sizes do not tell.

Whoever makes facts sets a tag only where it holds on every path.
"""

from __future__ import annotations

#: Cut by `[:n]` on an axis 0 of size 1: nothing was cut.
BATCH_CUT = "batch-cut"

#: Heads stand before tokens, by the transpose that put them there or by an annotation.
HEAD_FIRST = "head-first"

#: Lengths of sequences, as row sums of a mask and differences of offsets are.
LENGTHS = "lengths"

#: Offsets divided or scaled so that the lengths between them did not divide evenly.
DIVIDED = "divided"

#: One row of several rows of offsets, each of which belongs to other tokens.
ONE_ROW = "one-row"

#: Slot indices among which the negative ones, the padding, were clamped to 0.
CLAMPED = "clamped"

#: A state with V before K, or with K before V, as the kernel that returned it wrote it.
V_FIRST = "v-first"
K_FIRST = "k-first"
