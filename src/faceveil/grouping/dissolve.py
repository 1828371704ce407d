"""Dissolve groups whose members lose less in the groups around them: clusters need not be multiples of k."""

from faceveil.grouping.compiled import Array, compiled
from faceveil.grouping.region import NEVER, Region, dot, exchange
from faceveil.grouping.state import holds_person


@compiled
def dissolve(region: Region, people: Array, most: int) -> int:
    """Empty every group that can be emptied at a gain; how many were."""
    emptied = 0
    for g in range(len(region.size)):
        gain = _cost_of_group(region, g)
        for t in range(region.size[g]):
            gain -= _cheapest_entry(region, people, region.member[g, t], g, most)[0]
        if gain > 0 and _try_to_empty(region, people, g, most):
            emptied += 1
    return emptied


@compiled
def _try_to_empty(region: Region, people: Array, g: int, most: int) -> bool:
    """Send the members of g away one by one; all come back if that turns out a loss."""
    rows = region.member[g, : region.size[g]].copy()
    gain = _cost_of_group(region, g)
    sent = 0
    for x in rows:
        price, there = _cheapest_entry(region, people, x, g, most)
        gain -= price
        if gain <= 0:
            break
        exchange(region, x, -1, there)
        sent += 1
    if sent == len(rows):
        return True
    for t in range(sent):
        exchange(region, rows[t], -1, g)
    return False


@compiled
def _cost_of_group(region: Region, g: int) -> float:
    """Σ w·|x − mean|² of group g."""
    total = 0.0
    for t in range(region.size[g]):
        x = region.member[g, t]
        total += region.squares[x] / region.weights[x]
    cost: float = max(total - region.S2[g] / region.W[g], 0.0) if region.size[g] > 0 else 0.0
    return cost


@compiled
def _cheapest_entry(region: Region, people: Array, x: int, g: int, most: int) -> tuple[float, int]:
    """The group, of those around row x but not g, where x adds least, and what it adds."""
    best = NEVER
    there = -1
    w = region.weights[x]
    square = region.squares[x]
    for z in region.near[x]:
        B = region.labels[z]
        if z < 0 or g == B or there == B or region.size[B] >= most:
            continue
        if len(people) > 0 and holds_person(region, people, B, x, -1):
            continue
        after = (region.S2[B] + 2 * w * dot(region.S, B, region.X, x) + square) / (region.W[B] + w)
        price = square / w + region.S2[B] / region.W[B] - after
        if price < best:
            best = price
            there = B
    return best, there
