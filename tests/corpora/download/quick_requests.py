"""What the tests ask for: waits of milliseconds, marks of a few pieces."""

from __future__ import annotations

from collections.abc import Callable

from seamount.corpora.text.download.request import DownloadRequest, RetryPolicy

QUICK = RetryPolicy(retries=3, base_s=0.005, cap_s=0.02, timeout_s=1.0, longest_wait_s=5.0)
MARK_BYTES = 20_000
Asked = Callable[..., DownloadRequest]
