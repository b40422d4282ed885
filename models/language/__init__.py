"""Llama-style language models."""
