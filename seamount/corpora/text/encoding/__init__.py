"""Texts to ids of a byte-level BPE, compiled, with the very ids of the tokenizers library."""
