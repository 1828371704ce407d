"""The trained parrot: the attacker runs the method on faces of its own and learns what it does to features.

From pairs (embedding of the released face, embedding of the original) a ridge regression learns what to add to the
first to come to the second; its strength is chosen on held-out people. So with few faces to learn from it changes
little, and the attack is hardly weaker than one without training. Released faces are then mapped before they are
looked up.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Looks, View, look_at_all
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.cache import Cache
from faceveil.evaluation.people import pair_photos

Rows = NDArray[np.float32]
Map = Callable[[Rows], Rows]
Method = Callable[[Path, Path], None]  # folder of photos in, folder of protected photos out

FEWEST = 20  # pairs to learn from
STRENGTHS = tuple(float(value) for value in np.geomspace(1e-3, 1e3, 13))


def command(words: str) -> Method:
    """A method as a shell-like command with {input} and {output}, run without a shell."""
    if "{input}" not in words or "{output}" not in words:
        raise UsageError(
            f"a method's command names {{input}} and {{output}}, folders to read and write; not: {words}"
        )

    try:
        parts = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"the method's command cannot be split into words ({error}): {words}") from error

    def run(source: Path, target: Path) -> None:
        call = [word.replace("{input}", str(source)).replace("{output}", str(target)) for word in parts]
        try:
            done = subprocess.run(call, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"the method's command {call[0]} cannot be run: {error.strerror}.") from error
        if done.returncode not in (0, 3):  # 3: some photos were quarantined
            last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
            raise UsageError(f"the method's command ended with code {done.returncode}: {last[0]}")

    return run


def learn_maps(
    method: Method, faces: Path, attackers: Sequence[Attacker], cache: Cache, subjects: str = "auto"
) -> dict[str, Map]:
    """Run the method on the attacker's own faces and learn one map per recogniser."""
    with tempfile.TemporaryDirectory(prefix="faceveil-attacker-") as folder:
        target = Path(folder) / "protected"
        method(faces, target)
        looks = look_at_all(pair_photos(faces, target, subjects), attackers, cache, restored=False)
        return {attacker.id: learn_map(looks, attacker) for attacker in attackers}


def learn_map(looks: Looks, attacker: Attacker) -> Map:
    """The map of one recogniser; where too few faces were acquired, it changes nothing."""
    views: list[tuple[View, str]] = [("original", attacker.id), ("anonymised", attacker.id)]
    both = [row for row, look in enumerate(looks.looks) if all(view in look.vectors for view in views)]
    people, person = np.unique(looks.pairs.person_index[both], return_inverse=True)
    if len(both) < FEWEST or len(people) < 2:
        return lambda rows: rows
    originals, released = (
        np.array([looks.looks[row].vectors[view] for row in both], np.float64) for view in views
    )
    missing = originals - released
    held = person % 4 == 0
    errors = {
        strength: _error(_ridge(released[~held], missing[~held], strength), released[held], missing[held])
        for strength in STRENGTHS
    }
    weights = _ridge(released, missing, min(errors, key=lambda strength: errors[strength]))
    return lambda rows: _apply(weights, rows, unit=not attacker.euclidean)


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    """The affine map from x to y with the least squares plus strength times its squares (not of the offset)."""
    x = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.diag(np.r_[np.full(x.shape[1] - 1, strength), 0.0])
    return np.asarray(np.linalg.solve(x.T @ x + penalty, x.T @ y))


def _error(weights: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.mean((np.hstack([x, np.ones((len(x), 1))]) @ weights - y) ** 2))


def _apply(weights: NDArray[np.float64], rows: Rows, *, unit: bool) -> Rows:
    mapped = rows + np.hstack([rows, np.ones((len(rows), 1))]) @ weights
    if unit:
        mapped = mapped / np.maximum(np.linalg.norm(mapped, axis=1, keepdims=True), 1e-12)
    return np.asarray(mapped, np.float32)
