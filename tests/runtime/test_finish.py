"""What is left open of a job is decided without a device."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slangnb.compiler.reflection import Parameter, TypeInfo
from slangnb.runtime.fused.finish import Facts, finish
from slangnb.runtime.fused.given import Gathered, Given, GivenTensor
from slangnb.runtime.fused.job import Argument, Job, Leaf, Output
from slangnb.runtime.fused.values import Held, NotFusedError

FLOAT = TypeInfo("float", "scalar", "float", (), True)
VULKAN = Facts("vulkan", False, lambda kernel, count: None)
IN_PROCESS = Facts("software", True, lambda kernel, count: None, ("float f(float x) { return x; }",))


def call(shape: tuple[int, ...], leaf: Leaf, held: Held) -> tuple[Job, Gathered]:
    """Make the reverse job of ``f(x)``."""
    arguments = (Argument(Parameter("x", FLOAT), (leaf,)),)
    outputs = (Output("", FLOAT, "result"),)
    given = (Given(leaf, held, ("x",), "x"),)
    return Job("f", ("m",), arguments, outputs, "reverse", True), Gathered(arguments, outputs, given, (), shape)


def each(n: int) -> tuple[Job, Gathered]:
    leaf = Leaf("0_x", "", FLOAT, "each", wanted=True, addressed=True, aligned=True)
    return call((n,), leaf, Held("numpy", (n,)))


@pytest.mark.parametrize(("n", "per_thread", "threads", "exact"), [(1000, 1, 1024, False), (1 << 20, 8, 1 << 17, True)])
def test_a_thread_takes_what_the_size_suggests(n: int, per_thread: int, threads: int, exact: bool) -> None:
    found = finish(*each(n), VULKAN)
    assert (found.job.per_thread, found.threads, found.job.exact) == (per_thread, threads, exact)
    assert (found.job.slots, found.slots) == ("group", threads // 256)
    assert (found.job.rank, found.layout, found.job.host, found.job.block) == (0, (), False, 1)


def test_what_was_measured_counts_more_and_what_is_asked_for_most() -> None:
    asked: list[tuple[str, int]] = []

    def tuned(kernel: str, count: int) -> int:
        asked.append((kernel, count))
        return 4

    job, gathered = each(1 << 20)
    found = finish(job, gathered, replace(VULKAN, tuned=tuned))
    assert found.job.per_thread == 4 and asked == [(found.kernel_id, 1 << 20)]
    other = finish(replace(job, per_thread=2), gathered, replace(VULKAN, tuned=tuned))
    assert other.job.per_thread == 2 and other.kernel_id == found.kernel_id and len(asked) == 1


def test_strided_values_have_a_table_of_merged_dimensions() -> None:
    leaf = Leaf("0_x", "", FLOAT, "strided")
    found = finish(*call((4, 5, 3), leaf, Held("tensor", (3,), (2,), 7)), VULKAN)
    assert (found.job.rank, found.layout) == (2, (20, 3, 7, 0, 2))


def test_blocks_need_memory_of_this_process_and_enough_elements() -> None:
    found = finish(*each(1 << 20), IN_PROCESS)
    assert (found.job.host, found.job.block, found.job.slots, found.slots) == (True, 8, "thread", found.threads)
    assert finish(*each(1 << 11), IN_PROCESS).job.block == 1  # a thread takes but one


@pytest.mark.parametrize(("facts", "most"), [(VULKAN, 1 << 32), (IN_PROCESS, 1 << 31)])
def test_indices_of_32_bits_reach_all_numbers(facts: Facts, most: int) -> None:
    leaf = Leaf("0_x", "", FLOAT, "strided")
    finish(*call((2,), leaf, Held("tensor", (2,), (most - 2,))), facts)
    with pytest.raises(NotFusedError, match="more numbers than a kernel can count"):
        finish(*call((2,), leaf, Held("tensor", (2,), (most - 1,))), facts)


def test_results_at_an_address_and_indexed_tensors_do_not_go_together() -> None:
    job, gathered = each(8)
    tensors = (GivenTensor("t", TypeInfo("Tensor<float,1>", "tensor", "float"), ("t",), False),)
    with pytest.raises(NotFusedError, match="indexed is SlangPy's"):
        finish(replace(job, addressed=True), replace(gathered, tensors=tensors), VULKAN)
