"""How much a process and its machine use, read from /proc (proc(5)); psutil where there is none.

Where MLflow's system metrics measure the same thing, the names and units are MLflow's. Megabytes
are 1e6 bytes; percentages of a process count one whole core as 100.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_SECTOR_BYTES = 512
_MB = 1e6


class ProcessMeter:
    """One process: `read` gives rates since the call before (none in the first)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before: tuple[float, float] | None = None

    def read(self) -> dict[str, float]:
        """Metrics by name; empty once the process is gone."""
        try:
            usage = _from_proc(self._pid) if _PROC.is_dir() else _from_psutil(self._pid)
        except (OSError, ImportError):  # gone between two reads, or nothing here measures it
            return {}
        now, cpu_s = time.monotonic(), usage.pop("cpu_s")
        if self._before is not None and now > self._before[0]:
            spent = (cpu_s - self._before[1]) / (now - self._before[0])
            usage["process_cpu_percentage"] = 100.0 * spent
        self._before = (now, cpu_s)
        return {f"system/{name}": value for name, value in usage.items()}


def _from_proc(pid: int) -> dict[str, float]:
    folder = _PROC / str(pid)
    text = (folder / "stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    found = {
        "cpu_s": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        "process_memory_megabytes": int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / _MB,
        "process_threads": float(fields[17]),
    }
    try:
        io = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
    except PermissionError:
        return found
    found["process_disk_read_megabytes"] = int(io["read_bytes"]) / _MB
    found["process_disk_write_megabytes"] = int(io["write_bytes"]) / _MB
    return found


def _from_psutil(pid: int) -> dict[str, float]:
    import psutil

    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        return {
            "cpu_s": times.user + times.system,
            "process_memory_megabytes": process.memory_info().rss / _MB,
            "process_threads": float(process.num_threads()),
        }
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from error


class HostMeter:
    """The machine: processor, memory, the store's disk, network; NVIDIA GPUs if pynvml is there.

    `cpu_utilization_percentage` counts since the call before; network and disk traffic since the
    first call.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cpu: tuple[float, float] | None = None
        self._traffic: dict[str, float] | None = None
        self._gpus: Any = None
        self._nvml = _nvml()

    def read(self) -> dict[str, float]:
        """Metrics by name."""
        metrics = self._disk() | self._gpu()
        if _PROC.is_dir():
            metrics |= self._processor() | _memory() | self._transfers()
        return {f"system/{name}": value for name, value in metrics.items()}

    def _processor(self) -> dict[str, float]:
        line = (_PROC / "stat").read_text().split("\n", 1)[0]
        ticks = [int(field) for field in line.split()[1:9]]  # guest time stands in user's already
        idle, total = ticks[3] + ticks[4], sum(ticks)
        before, self._cpu = self._cpu, (float(idle), float(total))
        if before is None or total <= before[1]:
            return {}
        share = 1 - (idle - before[0]) / (total - before[1])
        return {"cpu_utilization_percentage": 100.0 * share}

    def _disk(self) -> dict[str, float]:
        found = os.statvfs(self._folder)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        free = found.f_bavail * found.f_frsize
        return {
            "disk_usage_percentage": 100.0 * used / max(used + free, 1),
            "disk_usage_megabytes": used / _MB,
            "disk_available_megabytes": free / _MB,
        }

    def _transfers(self) -> dict[str, float]:
        now = _network() | _disk_traffic()
        self._traffic = self._traffic or now
        return {name: value - self._traffic.get(name, 0.0) for name, value in now.items()}

    def _gpu(self) -> dict[str, float]:
        metrics: dict[str, float] = {}
        if self._nvml is None:
            return metrics
        for number in range(self._nvml.nvmlDeviceGetCount()):
            try:
                metrics |= _one_gpu(self._nvml, number)
            except self._nvml.NVMLError:
                continue  # not every device has every gauge
        return metrics


def _memory() -> dict[str, float]:
    lines = (_PROC / "meminfo").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    total, available = kib["MemTotal"] * 1024, kib["MemAvailable"] * 1024
    return {
        "system_memory_usage_megabytes": (total - available) / _MB,
        "system_memory_usage_percentage": 100.0 * (total - available) / total,
    }


def _network() -> dict[str, float]:
    received = sent = 0
    for line in (_PROC / "net" / "dev").read_text().splitlines()[2:]:
        fields = line.split(":", 1)[1].split()
        received, sent = received + int(fields[0]), sent + int(fields[8])
    return {"network_receive_megabytes": received / _MB, "network_transmit_megabytes": sent / _MB}


def _disk_traffic() -> dict[str, float]:
    """Whole disks only: a partition's traffic is in its disk's numbers already."""
    read = written = 0
    for line in (_PROC / "diskstats").read_text().splitlines():
        fields = line.split()
        if (Path("/sys/block") / fields[2].replace("/", "!")).exists():
            read, written = read + int(fields[5]), written + int(fields[9])
    scale = _SECTOR_BYTES / _MB
    return {"disk_read_megabytes": read * scale, "disk_write_megabytes": written * scale}


def _nvml() -> Any:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver here
        return None
    return pynvml


def _one_gpu(nvml: Any, number: int) -> dict[str, float]:
    handle = nvml.nvmlDeviceGetHandleByIndex(number)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return {
        f"gpu_{number}_memory_usage_percentage": 100.0 * memory.used / memory.total,
        f"gpu_{number}_memory_usage_megabytes": memory.used / _MB,
        f"gpu_{number}_utilization_percentage": float(
            nvml.nvmlDeviceGetUtilizationRates(handle).gpu
        ),
        f"gpu_{number}_power_usage_watts": nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    }
