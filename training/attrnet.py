"""Train AttrNet: python -m training.attrnet DATA PAIRS RUN [--minutes 30]

DATA holds utkface/, lfw/ and ffhq/, PAIRS what `training.pairs` and `training.real_faces` made. Three
stages, each kept in RUN:

1. A teacher: linear heads on ImageNet's MobileNetV2 and the recogniser MobileFaceNet, both frozen, from UTKFace's
   labels, the hand labels and other networks' opinions (`attribute_heads.py`, teacher.npz).
2. Generated faces moved along the labels' directions (`attribute_faces.py`, moved.npz), and linear heads that
   have seen them too (start.npz).
3. AttrNet: starts there and trains its later blocks on everything, degraded as users' photos are, also on what
   the teacher is sure of in faces that nobody labelled (attrnet.npz). With --minutes 0 the linear heads are it.

Held out throughout: 60 FFHQ faces, 500 people of LFW, 1,000 photos of UTKFace.
"""

import argparse
import json
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from faceveil.models.attrnet import WITH_RECOGNISER, build_feature_graph, prepare
from faceveil.models.runtime import Network
from faceveil.models.torch.attrnet import AttrNet
from training.attribute_faces import MOVED, Faces, Floats, Images, as_users_see, joined, looked, moved, shrink
from training.attribute_heads import Axes, fit_head
from training.attribute_labels import (
    COLUMN,
    GROUPS,
    OUTPUTS,
    TRAINING_LABELS,
    YES_OR_NO,
    Targets,
    face_id,
    from_networks,
    of_utkface,
    read_labels,
    utkface_held_out,
)
from training.augment import degrade, jitter, relight
from training.data import to_tensor
from training.pairs import open_pairs
from training.real_faces import list_faces as find_photos

GENERATED = range(512, 3000)  # of the pairs, as far as they are rendered; the first 512 are held out
FROZEN = 7  # the first blocks of the trunk stay as ImageNet left them
BATCH = 32
SHARES = {"utkface": 0.45, "found": 0.05, "hand": 0.1, "photos": 0.2, "generated": 0.1, "moved": 0.1}
SURE = 0.9  # of the teacher, for its opinion to count
AVERAGE = 0.995


def gather(pairs: Path, run: Path) -> dict[str, Faces]:
    """Faces with the targets that do not need the teacher: of UTKFace, by hand, of other photos, generated."""
    records = json.loads((pairs / "real.json").read_text())
    photos = np.load(pairs / "real.npy", mmap_mode="r")
    hand = read_labels(TRAINING_LABELS)
    apart = utkface_held_out(r["name"] for r in records if r["set"] == "utkface")
    rows: dict[str, list[int]] = {"utkface": [], "photos": []}
    for row, r in enumerate(records):
        if r["set"] == "utkface" and r["name"] not in apart and of_utkface(r["name"]) is not None:
            rows["utkface"].append(row)
        elif r["set"] != "utkface" and not r["held_out"]:
            rows["photos"].append(row)
    images = {name: np.stack([shrink(photos[i]) for i in wanted]) for name, wanted in rows.items()}
    drawn = open_pairs(pairs)[0][rendered(pairs)]
    seen = {
        "photos": looked((photos[i] for i in rows["photos"]), run / "looked-photos.npy"),
        "generated": looked(drawn, run / "looked-generated.npy"),
    }
    names = {
        name: np.array([face_id(records[i]["set"], records[i]["name"]) for i in wanted])
        for name, wanted in rows.items()
    }
    known = np.stack([of_utkface(records[i]["name"]) for i in rows["utkface"]])
    utkface = Faces(images["utkface"], known, names["utkface"])
    others = {
        "photos": (images["photos"], names["photos"]),
        "generated": (drawn, np.array([face_id("generated", str(i)) for i in rendered(pairs)])),
    }
    parts, by_hand = {"utkface": utkface}, []
    for name, (pictures, ids) in others.items():
        targets = np.stack([from_networks(*row) for row in seen[name]])
        labelled = [i for i, face in enumerate(ids) if face in hand]
        for i in labelled:
            targets[i] = np.where(np.isnan(hand[ids[i]]), targets[i], hand[ids[i]])
        parts[name] = Faces(pictures, targets, ids)
        by_hand.append(Faces(pictures[labelled], targets[labelled], ids[labelled]))
    parts["hand"] = joined(by_hand)
    return parts | {"degraded": degraded(joined([parts["hand"], every_other(utkface)]))}


def rendered(pairs: Path) -> list[int]:
    """The generated faces that may be trained on."""
    done = open_pairs(pairs)[2]
    return [i for i in GENERATED if i < len(done) and done[i]]


def degraded(clean: Faces) -> Faces:
    """Faces once more as users' photos are: small, blurred, noisy, compressed, in another light."""
    rng = np.random.default_rng(6)
    return replace(clean, images=np.stack([spoilt(image, rng) for image in clean.images]))


def every_other(faces: Faces) -> Faces:
    return Faces(faces.images[::2], faces.targets[::2], faces.photos[::2])


def spoilt(image: Images, rng: np.random.Generator) -> Images:
    image, _ = jitter(image, image[..., 0], rng)
    return degrade(relight(image, rng, 0.6), rng, occlusion=0.05)


def found(data: Path, cache: Path) -> Faces:
    """FFHQ's labelled photos once more as the program itself finds and aligns them; PAIRS has them as FFHQ does."""
    if not cache.exists():
        hand = read_labels(TRAINING_LABELS)
        ids = {path: face_id(face.set, face.name) for path, face in find_photos(data) if face.set == "ffhq"}
        seen = [
            (image, hand[name], name)
            for path, name in ids.items()
            if name in hand and (image := as_users_see(path)) is not None
        ]
        images, targets, names = (np.stack(column) for column in zip(*seen, strict=True))
        np.savez(cache, images=images, targets=targets, photos=names)
    return read_faces(cache)


def read_faces(path: Path) -> Faces:
    with np.load(path) as stored:
        return Faces(stored["images"], stored["targets"], stored["photos"])


def features(network: AttrNet, images: Images, cache: Path) -> Floats:
    """What the untrained network's head would read, in OpenVINO, which is quicker; kept in a file."""
    if not cache.exists():
        weights = {name: value.numpy() for name, value in network.state_dict().items()}
        read = Network(build_feature_graph(network.trunk_name, weights))
        np.save(cache, np.concatenate([read(prepare(image))[0] for image in images]).astype(np.float16))
    return np.load(cache).astype(np.float32)


def known_features(parts: dict[str, Faces], run: Path) -> dict[str, Floats]:
    network = untaught()
    return {n: features(network, faces.images, run / f"features-{n}.npy") for n, faces in parts.items()}


def untaught() -> AttrNet:
    return AttrNet.with_pretrained_trunk(len(OUTPUTS), WITH_RECOGNISER).eval()


def teach(network: AttrNet, parts: dict[str, Faces], known: dict[str, Floats]) -> None:
    """Set the network's head to logistic regressions; once there are moved faces, only of the labels they show."""
    axes = Axes.of(np.concatenate([known[name][::3] for name in ("photos", "utkface", "generated")]))
    codes = {name: axes.codes(table) for name, table in known.items()}
    weight, bias = (value.detach().numpy().copy() for value in network.head[0].parameters())

    def fit(columns: list[int], *sources: str) -> None:
        given = [name for name in sources if name in parts]
        targets = np.concatenate([parts[name].targets[:, columns] for name in given])
        photos = np.concatenate([parts[name].photos for name in given])
        rows = ~np.isnan(targets[:, 0])
        classes = targets[rows].argmax(axis=1) if len(columns) > 1 else targets[rows, 0].astype(int)
        head = fit_head(axes, np.concatenate([codes[name] for name in given])[rows], classes, photos[rows])
        weight[columns], bias[columns] = axes.on_features(head.slopes), head.intercept
        label = OUTPUTS[columns[0]].label
        print(f"{label}: {rows.sum()} faces, cost {head.cost}, emphasis {head.emphasis}", flush=True)

    if "moved" not in parts:
        for columns in (GROUPS["ethnicity"], [COLUMN["female"]], GROUPS["age"]):
            fit(columns, "utkface", "degraded")
        fit(GROUPS["hair"], "hand", "degraded", "found")
    for label in MOVED if "moved" in parts else YES_OR_NO:
        by_networks = label in ("smiling", "mouth open")  # which label thousands of faces
        fit(
            [COLUMN[label]],
            *(("photos", "generated") if by_networks else ("hand",)),
            "moved",
            "degraded",
            "found",
        )
    with torch.no_grad():
        network.feature_mean.copy_(torch.from_numpy(axes.mean))
        network.feature_scale.copy_(torch.from_numpy(axes.scale))
        network.head[0].weight.copy_(torch.from_numpy(weight))
        network.head[0].bias.copy_(torch.from_numpy(bias))


def linear_heads(parts: dict[str, Faces], run: Path, name: str, start: AttrNet | None = None) -> AttrNet:
    """The frozen trunk with its linear heads, from its file if it was made before."""
    network = untaught() if start is None else deepcopy(start)
    if (path := run / f"{name}.npz").exists():
        network.load(path)
        return network
    teach(network, parts, known_features(parts, run))
    network.save(path, OUTPUTS)
    return network


@torch.no_grad()
def opinions(network: AttrNet, known: Floats) -> Floats:
    """The logits of faces whose features are known."""
    scaled = (torch.from_numpy(known) - network.feature_mean) / network.feature_scale
    return network.head(scaled).numpy()


def with_opinions(faces: Faces, logits: Floats) -> Faces:
    """Unknown targets filled in where the teacher is sure."""
    sure = np.log(SURE / (1 - SURE))
    targets = faces.targets.copy()
    for column, output in enumerate(OUTPUTS):
        if not output.group and output.label != "eyes closed":
            told = np.isnan(targets[:, column]) & (np.abs(logits[:, column]) > sure)
            targets[told, column] = logits[told, column] > 0
    hair = GROUPS["hair"]
    shares = np.exp(logits[:, hair] - logits[:, hair].max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    told = np.isnan(targets[:, hair[0]]) & (shares.max(axis=1) > SURE)
    targets[np.ix_(told, hair)] = shares[told] > SURE
    return replace(faces, targets=targets)


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean over the labels of what is known: cross-entropy within groups, binary elsewhere."""
    parts = []
    for column, output in enumerate(OUTPUTS):
        known = ~torch.isnan(targets[:, column])
        if output.group and column != GROUPS[output.group][0]:
            continue
        if not known.any():
            continue
        if output.group:
            columns = GROUPS[output.group]
            parts.append(F.cross_entropy(logits[known][:, columns], targets[known][:, columns]))
        else:
            parts.append(F.binary_cross_entropy_with_logits(logits[known, column], targets[known, column]))
    return torch.stack(parts).mean()


def draw(parts: dict[str, Faces], rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    names = rng.choice(list(SHARES), BATCH, p=list(SHARES.values()))
    images, targets = [], []
    for name in names:
        row = int(rng.integers(len(parts[name])))
        images.append(spoilt(parts[name].images[row], rng))
        targets.append(parts[name].targets[row])
    return to_tensor(images), torch.from_numpy(np.stack(targets))


def train(network: AttrNet, parts: dict[str, Faces], minutes: float, save: Path) -> AttrNet:
    """Fine-tune with batch statistics frozen; the weights that are kept are averages over the last steps."""
    rng, average, begun = np.random.default_rng(5), deepcopy(network), time.monotonic()
    later = [p for block in network.trunk.features[FROZEN:] for p in block.parameters()]
    head = list(network.head.parameters())
    network.requires_grad_(False)
    for parameter in (*later, *head):
        parameter.requires_grad_(True)
    optimiser = torch.optim.AdamW(
        [{"params": later, "top": 4e-4}, {"params": head, "top": 1e-4}], lr=0, weight_decay=0.02
    )
    step, running = 0, 0.0
    while minutes and (passed := (time.monotonic() - begun) / 60 / minutes) < 1:
        for group in optimiser.param_groups:  # up in 100 steps, down with the cosine of time
            group["lr"] = (
                group["top"] * min(1, (step + 1) / 100) * (0.02 + 0.49 * (1 + np.cos(np.pi * passed)))
            )
        images, targets = draw(parts, rng)
        error = loss(network(images), targets)
        optimiser.zero_grad()
        error.backward()
        torch.nn.utils.clip_grad_norm_([*later, *head], 1.0)
        optimiser.step()
        keep = min(AVERAGE, (1 + step) / (10 + step))
        with torch.no_grad():
            for kept, new in zip(average.parameters(), network.parameters(), strict=True):
                kept.lerp_(new, 1 - keep)
        running = error.item() if step == 0 else 0.98 * running + 0.02 * error.item()
        step += 1
        if step % 50 == 0:
            print(f"step {step}, {passed * minutes:.1f} min, loss {running:.4f}", flush=True)
        if step % 200 == 0:
            average.save(save, OUTPUTS)
    return average


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--moved", type=int, default=120, help="Generated faces to move per label.")
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts = gather(options.pairs, options.run)
    parts["found"] = found(options.data, options.run / "found.npz")
    network = linear_heads(parts, options.run, "teacher")

    @torch.no_grad()
    def judge(images: Images) -> Targets:
        return network(to_tensor(list(images))).numpy()

    wplus = open_pairs(options.pairs)[1][rendered(options.pairs)].astype(np.float32)
    known = known_features({name: parts[name] for name in ("photos", "generated")}, options.run)
    logits = {name: opinions(network, table) for name, table in known.items()}
    columns = [COLUMN[label] for label in MOVED]
    stored = options.run / "moved.npz"
    if not stored.exists():
        new = moved(
            wplus,
            parts["generated"].photos,
            logits["generated"][:, columns],
            options.moved,
            lambda x: judge(x)[:, columns],
        )
        np.savez(stored, images=new.images, targets=new.targets, photos=new.photos)
    parts["moved"] = read_faces(stored)
    network = linear_heads(parts, options.run, "start", network)
    for name, table in logits.items():
        parts[name] = with_opinions(parts[name], table)
    trained = train(network, parts, options.minutes, options.run / "attrnet.npz")
    trained.save(options.run / "attrnet.npz", OUTPUTS)


if __name__ == "__main__":
    main()
