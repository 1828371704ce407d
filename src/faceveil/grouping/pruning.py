"""Groups cut out of a merge tree that is pruned as they leave (AnonFACES algorithm 1, lines 4 to 13)."""

import numpy as np

from faceveil.grouping.compiled import Array, compiled_exactly


@compiled_exactly
def cut_groups(merges: Array, sizes: Array, k: int) -> Array:
    """The group of each leaf. `merges` are pairs of nodes by height; group j gets `sizes[j]` leaves."""
    n = len(merges) + 1
    leaves = np.ones(2 * n - 1, dtype=np.int64)  # leaves still below each node
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    for i in range(n - 1):
        leaves[n + i] = leaves[merges[i, 0]] + leaves[merges[i, 1]]
        parent[merges[i, 0]] = n + i
        parent[merges[i, 1]] = n + i
    labels = np.full(n, -1, dtype=np.int64)
    left = n
    for group in range(len(sizes)):
        want = sizes[group]
        cluster = _biggest_cluster(merges, leaves, left // k, want)
        _take_lowest(merges, leaves, parent, labels, cluster, want, group)
        left -= want
    return labels


@compiled_exactly
def _biggest_cluster(merges: Array, leaves: Array, clusters: int, want: int) -> int:
    """Cut into `clusters`, or fewer until one holds `want` leaves; the biggest, of equals the lowest."""
    n = len(merges) + 1
    root = 2 * n - 2
    how_many = np.zeros(leaves[root] + 1, dtype=np.int64)
    how_many[leaves[root]] = 1
    biggest = leaves[root]
    lowest_cut = root + 1  # merges from here on are undone
    undone = 0
    for node in range(root, n - 1, -1):
        a, b = leaves[merges[node - n, 0]], leaves[merges[node - n, 1]]
        if a == 0 or b == 0:
            continue
        if undone == clusters - 1:
            break
        how_many[leaves[node]] -= 1
        how_many[a] += 1
        how_many[b] += 1
        smaller = biggest
        while how_many[smaller] == 0:
            smaller -= 1
        if smaller < want:
            break
        biggest = smaller
        lowest_cut = node
        undone += 1
    found = 2 * n
    if lowest_cut > root:
        found = _settle(merges, leaves, root)
    for node in range(root, lowest_cut - 1, -1):
        for side in range(2):
            child = merges[node - n, side]
            if leaves[child] == biggest and child < lowest_cut:
                found = min(found, _settle(merges, leaves, child))
    return found


@compiled_exactly
def _settle(merges: Array, leaves: Array, node: int) -> int:
    """Go down past merges that have one side empty."""
    n = len(merges) + 1
    while node >= n:
        a, b = merges[node - n, 0], merges[node - n, 1]
        if leaves[a] == 0:
            node = b
        elif leaves[b] == 0:
            node = a
        else:
            break
    return node


@compiled_exactly
def _take_lowest(
    merges: Array, leaves: Array, parent: Array, labels: Array, node: int, want: int, group: int
) -> None:
    """Give `want` leaves below `node` to `group`: the lowest subtree that has them, or most of it."""
    n = len(merges) + 1
    while want > 0:
        below = _lowest_subtree(merges, leaves, node, want)
        if leaves[below] == want:
            _take_all(merges, leaves, parent, labels, below, group)
            return
        a = _settle(merges, leaves, merges[below - n, 0])
        b = _settle(merges, leaves, merges[below - n, 1])
        if leaves[b] > leaves[a] or (leaves[b] == leaves[a] and b < a):
            a, b = b, a
        want -= leaves[a]
        _take_all(merges, leaves, parent, labels, a, group)
        node = b


@compiled_exactly
def _lowest_subtree(merges: Array, leaves: Array, node: int, want: int) -> int:
    """The lowest node below `node` with at least `want` leaves."""
    n = len(merges) + 1
    best = node
    stack = [node]
    while len(stack) > 0:
        at = _settle(merges, leaves, stack.pop())
        if leaves[at] < want:
            continue
        best = min(best, at)
        if at >= n:
            stack.append(merges[at - n, 0])
            stack.append(merges[at - n, 1])
    return _settle(merges, leaves, best)


@compiled_exactly
def _take_all(merges: Array, leaves: Array, parent: Array, labels: Array, node: int, group: int) -> None:
    n = len(merges) + 1
    gone = leaves[node]
    stack = [node]
    while len(stack) > 0:
        at = stack.pop()
        if leaves[at] == 0:
            continue
        leaves[at] = 0
        if at < n:
            labels[at] = group
        else:
            stack.append(merges[at - n, 0])
            stack.append(merges[at - n, 1])
    up = parent[node]
    while up >= 0:
        leaves[up] -= gone
        up = parent[up]
