"""Kimi Delta Attention kernels: Helion on CUDA, the plain PyTorch `reference` elsewhere."""

from .decode import packed_decode, replayssm_decode, verify
from .prefill import chunk_kda

__all__ = ["chunk_kda", "packed_decode", "replayssm_decode", "verify"]
