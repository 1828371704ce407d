"""Tables of what became of the faults: by kind and outcome, and by method."""

from collections import Counter
from collections.abc import Callable

from benchmarks.faults.campaign import Tried

OUTCOMES = ("went on", "quarantined", "stopped, said why", "killed", "could not be made")


def tables(tried: list[Tried]) -> str:
    """Both, with the sums."""
    seconds = sum(one.seconds for one in tried) / max(1, len(tried))
    failed = sum(bool(one.problems) for one in tried)
    last = f"{len(tried)} faults, {failed} at which a check failed, {seconds:.2f} s a fault."
    return "\n\n".join([_table("fault", tried, lambda one: one.kind), _table("method", tried, lambda one: one.case),
                        _table("engine", tried, lambda one: one.engine), last])  # fmt: skip


def _table(head: str, tried: list[Tried], key: Callable[[Tried], str]) -> str:
    columns = [head, "faults", *OUTCOMES, "resumed", "a check failed"]
    lines = ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    lines += [_row(name, [one for one in tried if key(one) == name]) for name in sorted({*map(key, tried)})]
    return "\n".join([*lines, _row("all", tried)])


def _row(name: str, tried: list[Tried]) -> str:
    found = Counter(one.outcome for one in tried)
    cells = [len(tried), *(found[outcome] for outcome in OUTCOMES), sum(one.resumed for one in tried),
             sum(bool(one.problems) for one in tried)]  # fmt: skip
    return f"| {name} | " + " | ".join(map(str, cells)) + " |"
