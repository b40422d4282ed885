"""Which way a metric is better, by the words of its name; a person may say otherwise."""

from __future__ import annotations

import re
from typing import Literal

Direction = Literal["lower", "higher", "none"]
_LOWER = {
    "loss", "error", "err", "bpb", "bpc", "nll", "nats", "perplexity", "ppl", "wer", "cer", "eer",
    "mae", "mse", "rmse", "mape", "mcd", "dcf", "fid", "latency", "duration", "seconds", "time",
    "divergence", "kl", "entropy", "regret", "failures", "failed", "ter", "cost", "bytes", "memory",
    "megabytes", "gigabytes", "brier", "ece",
}  # fmt: skip
_HIGHER = {
    "acc", "accuracy", "f1", "bleu", "rouge", "chrf", "auc", "auroc", "ap", "map", "precision",
    "recall", "iou", "miou", "psnr", "ssim", "mrr", "ndcg", "r2", "reward", "score", "throughput",
    "mfu", "sps", "tps", "top1", "top5", "em", "mos", "hit", "likelihood", "similarity",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+\d?|[A-Z]+\d?(?![a-z])|\d+")
_PER_TIME = re.compile(r"per_?(s|sec|second|hour)(ond)?$|/s(ec)?$")


def guessed(name: str) -> Direction:
    """`lower`, `higher`, or `none` where no word of the name says: the last word that does counts.

    So `val/loss` is better lower, `loss/acc` follows acc, `tokens_per_second` is better higher.
    """
    if _PER_TIME.search(name.lower()):
        return "higher"
    for word in reversed([w.lower() for w in _WORDS.findall(name.partition("@")[0])]):
        if word in _LOWER:
            return "lower"
        if word in _HIGHER:
            return "higher"
    return "none"
