"""All benchmarks: slangnb against plain SlangPy, torch, JAX, numpy and the device's own copy, with errors beside times.

Run ``python tests/benchmarks/run.py``. A table goes to the output, and ``table.txt``, ``results.json`` and
``plot.png`` into a folder. torch and JAX take part if they are installed. Compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

# The peers and SlangPy are imported by the modules below only when they are used: first comes the driver.
import measure
import numpy as np
import peers
import plot
import report
from accuracy import Accuracy, measure_accuracy
from measure import NAMES, Row, progress

import slangnb as sn
from slangnb.devices.backend import slangpy_version
from slangnb.runtime.current import set_session


def sizes_of(text: str) -> list[int]:
    """Read sizes such as ``2^20,1000``."""
    found = []
    for part in text.split(","):
        base, _, power = part.replace("**", "^").partition("^")
        found.append(int(base) ** int(power or 1))
    return found


def names_of(text: str) -> list[str]:
    """Read names of workloads."""
    names = text.split(",")
    unknown = [n for n in names if n not in NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no workload {unknown[0]!r}; there are {', '.join(NAMES)}")
    return names


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    p = argparse.ArgumentParser(description="slangnb against its peers: times, errors, and a plot")
    p.add_argument("--backend", help="cuda, vulkan, software, ...; by default the best that works")
    p.add_argument("--sizes", type=sizes_of, help="numbers of elements, as in 2^20,2^24")
    p.add_argument("--only", type=names_of, default=list(NAMES), help=f"some of {','.join(NAMES)}")
    p.add_argument("--quick", action="store_true", help="small sizes and few rounds: does it work?")
    p.add_argument(
        "--out",
        type=Path,
        default=Path("build/benchmarks"),
        help="folder for the table and the plot (build/benchmarks)",
    )
    return p.parse_args(arguments)


def default_sizes(quick: bool, software: bool) -> tuple[list[int], list[int]]:
    """Give the sizes for times and for accuracy."""
    if quick:
        return [2**16, 2**20], [2**16, 2**20]
    powers = [20, 24] if software else [20, 24, 26, 28]
    return [2**p for p in powers], [2**p for p in (20, 24, 26, *(() if software else (28,)))]


def machine(session: sn.Session, gpu: bool) -> dict[str, str]:
    """Say on what all this ran."""
    versions = [f"Python {platform.python_version()}", f"slangpy {slangpy_version()}", f"numpy {np.__version__}"]
    for name in ("torch", "jax"):
        library = peers.load(name)
        versions.append(f"{name} {library.__version__ if library else 'not installed'}")
    found = {
        "backend": f"{session.backend.key} ({session.backend.adapter})",
        "versions": ", ".join(versions),
        "processor": f"{os.cpu_count()} cores",
    }
    if gpu and peers.load("torch") is not None and peers.torch_device(gpu) == "cpu":
        found["attention"] = "torch sees no CUDA card and runs on the CPU"
    if hasattr(os, "getloadavg"):
        found["load before the run"] = f"{os.getloadavg()[0]:.1f}"
    return found


def main(arguments: list[str]) -> int:
    """Run, print and save.

    Returns
    -------
    int
        The exit status: 1 when slangnb failed, or was wrong or not repeatable anywhere; 2 without a backend.
    """
    chosen = options(arguments)
    try:
        session = sn.Session(chosen.backend)
    except sn.BackendError as reason:
        progress(str(reason))
        return 2
    set_session(session)
    gpu = not session.backend.software
    about = machine(session, gpu)
    timed, accurate = default_sizes(chosen.quick, not gpu)
    budget = 1.0 if chosen.quick else 8.0
    rows: list[Row] = []
    for task in measure.tasks(chosen.only, chosen.sizes or timed, chosen.quick, not gpu):
        progress(f"{task.name}: {task.title}, {report.bytes_text(task.x.nbytes)}")
        rows += measure.run_task(task, gpu, budget)
    accuracy: list[Accuracy] = []
    if "accuracy" in chosen.only:
        for row in measure_accuracy(chosen.sizes or accurate, gpu):
            progress(f"accuracy: {row.name}, N = {report.size_text(row.size)}")
            accuracy.append(row)
    print(report.table(rows, accuracy, about))
    report.save(rows, accuracy, about, chosen.out)
    plot.plot(rows, accuracy, about, chosen.out / "plot.png")
    progress(f"written to {chosen.out}: table.txt, results.json, plot.png")
    session.close()
    promised = all(a.same and a.gradient < 1e-4 for a in accuracy if a.name.startswith("slangnb"))
    return int(not promised or any(r.ours and (r.failure or r.wrong) for r in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
