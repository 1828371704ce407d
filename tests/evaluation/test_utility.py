"""Fidelity, utility, clusters and the trained attack against independent code and known answers."""

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.linalg import sqrtm

from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Look, Looks
from faceveil.evaluation.attackers import attackers
from faceveil.evaluation.attacks import run_attack
from faceveil.evaluation.clusters import (
    Groups,
    cluster_level,
    diversity,
    entropy,
    homogeneity,
    information_loss,
    shared_faces,
)
from faceveil.evaluation.fidelity import frechet, ssim
from faceveil.evaluation.people import Pairs, PhotoPair, read_table
from faceveil.evaluation.protocol import read_pairs
from faceveil.evaluation.trained import command, learn_map
from faceveil.evaluation.tuning import Configuration, highest_error, lowest_cost
from faceveil.models import weights
from faceveil.models.lpips import LAYERS, SCALE, SHIFT, lpips
from faceveil.models.mobilenetv2 import features
from faceveil.models.unpickle import read_arrays


def noise(seed: int, size: int = 64) -> np.ndarray:
    raw = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    return cv2.GaussianBlur(raw, (0, 0), 1.5)


def test_ssim_agrees_with_the_formula_window_by_window():
    one, other = noise(0, 24), noise(1, 24)
    assert ssim(one, one) == 1
    grid = np.arange(11) - 5
    kernel = np.exp(-(grid[:, None] ** 2 + grid[None] ** 2) / (2 * 1.5**2))
    kernel /= kernel.sum()
    x, y = (cv2.cvtColor(p, cv2.COLOR_RGB2GRAY).astype(float) for p in (one, other))
    values = []
    for row in range(24 - 10):
        for column in range(24 - 10):
            a, b = (p[row : row + 11, column : column + 11] for p in (x, y))
            ma, mb = (kernel * a).sum(), (kernel * b).sum()
            va, vb = (kernel * (a - ma) ** 2).sum(), (kernel * (b - mb) ** 2).sum()
            cov = (kernel * (a - ma) * (b - mb)).sum()
            values.append(
                ((2 * ma * mb + 6.5025) * (2 * cov + 58.5225))
                / ((ma**2 + mb**2 + 6.5025) * (va + vb + 58.5225))
            )
    assert ssim(one, other) == pytest.approx(np.mean(values), abs=1e-9)


@pytest.mark.parametrize("rows", [200, 12])
def test_frechet_distance_agrees_with_the_matrix_square_root(rows):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(rows, 20)), rng.normal(0.3, 1.5, size=(rows, 20))
    cov_one, cov_other = np.cov(one, rowvar=False), np.cov(other, rowvar=False)
    if rows < 20:  # scipy's root needs full rank
        cov_one, cov_other = cov_one + 1e-9 * np.eye(20), cov_other + 1e-9 * np.eye(20)
    shift = one.mean(0) - other.mean(0)
    expected = shift @ shift + np.trace(cov_one + cov_other - 2 * np.real(sqrtm(cov_one @ cov_other)))
    assert frechet(one, other) == pytest.approx(expected, rel=1e-6 if rows > 20 else 1e-3)
    assert frechet(one, one) == pytest.approx(0, abs=1e-9)


def test_lpips_agrees_with_convolutions_written_out():
    one, other = noise(2), noise(3)
    table = read_arrays(weights("lpips.alexnet"))

    def layers(image):
        x, out = ((image / 127.5 - 1) - SHIFT) / SCALE, []
        for number, (stride, pad, pooled) in enumerate(LAYERS):
            if pooled:
                windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(0, 1))[::2, ::2]
                x = windows.max(axis=(-1, -2))
            part = table["AlexNet_0"][f"Conv_{number}"]
            side = part["kernel"].shape[0]
            x = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
            windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), axis=(0, 1))[
                ::stride, ::stride
            ]
            x = np.maximum(np.einsum("hwcij,ijco->hwo", windows, part["kernel"]) + part["bias"], 0)
            out.append(x / (np.sqrt((x**2).sum(-1, keepdims=True)) + 1e-10))
        return out

    expected = sum(
        ((a - b) ** 2 @ table[f"NetLinLayer_{n}"]["Conv_0"]["kernel"].reshape(-1)).mean()
        for n, (a, b) in enumerate(zip(layers(one), layers(other), strict=True))
    )
    assert lpips(one, other) == pytest.approx(expected, rel=1e-4)
    assert lpips(one, one) == 0 < lpips(one, cv2.blur(one, (3, 3))) < lpips(one, cv2.blur(one, (15, 15)))


def test_mobilenet_features_see_a_picture_and_not_its_place_in_a_batch():
    one = noise(4, 100)
    assert features(one).shape == (1280,) and np.isfinite(features(one)).all()
    assert np.array_equal(features(one), features(one.copy()))
    assert np.linalg.norm(features(one) - features(noise(5, 100))) > np.linalg.norm(
        features(one) - features(cv2.blur(one, (2, 2)))
    )


def looks_of(originals: np.ndarray, released: np.ndarray, name: str, person=None) -> Looks:
    count = len(originals)
    person = [f"p{row:03d}" for row in range(count)] if person is None else person
    pairs = [PhotoPair(f"{row:03d}.png", Path("a"), Path("b"), person[row]) for row in range(count)]
    seen = [
        Look(None, None, 1, {("original", name): originals[row], ("anonymised", name): released[row]})
        for row in range(count)
    ]
    return Looks(Pairs(pairs, []), seen)


def unit(seed: int, count: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 128))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def judge():
    return attackers(["mobilefacenet.facesdk"])[0]


def test_an_attacker_who_trains_undoes_what_defeats_plain_matching(judge):
    turn = np.linalg.qr(np.random.default_rng(9).normal(size=(128, 128)))[0].astype(np.float32)
    own, victims = unit(1, 600), unit(2, 100)
    trained = learn_map(looks_of(own, own @ turn, judge.id), judge)
    looks = looks_of(victims, victims @ turn, judge.id)
    assert run_attack("naive", looks, judge).found.value < 0.1
    assert run_attack("trained", looks, judge, trained).found.value > 0.9


def test_too_few_faces_teach_nothing(judge):
    rows = unit(1, 5)
    assert learn_map(looks_of(rows, rows, judge.id), judge)(rows) is rows


def test_a_method_s_command_must_name_its_folders_and_work():
    with pytest.raises(UsageError, match="input"):
        command("blur everything")
    with pytest.raises(UsageError, match="code 4"):
        command(f"{sys.executable} -c 'raise SystemExit(4)' {{input}} {{output}}")(Path("a"), Path("b"))
    with pytest.raises(UsageError, match="cannot be run"):
        command("no-such-program {input} {output}")(Path("a"), Path("b"))


def test_groups_that_share_a_face_are_recognised_and_judged_against_one_in_k(judge):
    originals = np.eye(128, dtype=np.float32)[:40]  # forty people who are nothing alike
    released = originals[np.arange(40) // 4 * 4]  # four people share the face of the first
    looks = looks_of(originals, released, judge.id)
    groups = shared_faces(looks, [judge])
    assert [len(rows) for rows in groups.members] == [4] * 10
    level = cluster_level(looks, judge, groups)
    assert (level.groups, level.smallest, level.bound) == (10, 4, 0.25)
    assert level.mean_rate == level.worst_rate == 0.25 and level.database_rate.value == 0.25
    assert run_attack("naive", looks, judge).found.value == 0.25, "only the one whose face it is"
    # Of the ten whose face is released, four names tie: a fair draw finds a quarter of them.
    assert 0.25 / 4 <= run_attack("reverse", looks, judge).found.value < 0.1
    seen = diversity(looks, judge)
    assert seen["originals"] == 40 and seen["released"] == 10 and seen["ratio"] == 0.25


def test_information_loss_is_the_mean_distance():
    assert information_loss(np.array([[0.0, 0], [1, 1]]), np.array([[3.0, 4], [1, 1]])) == 2.5


def test_homogeneity_is_the_share_of_groups_of_one_kind():
    groups = Groups(np.array([0, 0, 1, 1, 2, 2, -1]))
    assert homogeneity(groups, ["f", "f", "f", "m", "m", None, "f"]) == pytest.approx(2 / 3)
    assert entropy(["a", "a"]) == 0 and entropy(["a", "b"]) == 1


def test_the_paper_s_two_criteria():
    rows = [
        Configuration("blur", 5, 0.1, 0.0, 0.9),
        Configuration("blur", 15, 0.3, 0.2, 0.3),
        Configuration("blur", 31, 0.4, 0.6, 0.1),
    ]
    assert highest_error(rows).strength == 15 and lowest_cost(rows).strength == 15
    assert highest_error(rows[2:]) is None


def test_a_reviewer_s_own_network_gives_the_same_numbers_with_the_same_weights(tmp_path, judge):
    inside = attackers(["mobilenet.facelib"])[0].recognizer
    (tmp_path / "mine.tflite").write_bytes(weights("mobilenet.facelib").read_bytes())
    card = 'id = "mine"\nsize = 112\ntemplate = "arcface-112"\ndistance = "cosine"\nthreshold = 0.7\n'
    (tmp_path / "mine.toml").write_text(card + 'layout = "NHWC"\n')
    own = attackers(["mobilenet.facelib"], [tmp_path / "mine.tflite"])[-1]
    crops = np.stack([cv2.resize(noise(seed), (112, 112)) for seed in range(2)])
    assert own.id == "mine" and np.allclose(own.recognizer.embed(crops), inside.embed(crops), atol=1e-6)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("threshold = 'x'", "threshold"), ("threshold = nan", "threshold"), ("template = 'oval'", "template"),
        ("distance = 'far'", "distance"), ("size = 0", "size"), ("size = 10000000", "size"), ("id = ''", "id"),
        ('id = "a\\u001b"', "id"), ("id = 'dlib-resnet.v1'", "id"),
        ("mean = [1, 2]", "mean"), ("mean = 'x'", "mean"), ("deviation = [1, 1, 0]", "deviation"),
        ("layout = 'CHWN'", "layout"), ("channels = ['RGB']", "channels"), ("lay_out = 'NCHW'", "no field"),
        ("id = 'm\udce9'", "not in UTF-8"),
    ],
)  # fmt: skip
def test_a_wrong_card_is_refused_by_the_field(tmp_path, line, said):
    (tmp_path / "mine.onnx").write_bytes(b"x")
    fields = {
        "id": "'m'",
        "size": "112",
        "template": "'arcface-112'",
        "distance": "'cosine'",
        "threshold": "0.7",
    }
    name, value = line.split(" = ")
    text = "".join(f"{k} = {v}\n" for k, v in (fields | {name: value}).items())
    (tmp_path / "mine.toml").write_bytes(os.fsencode(text))
    with pytest.raises(UsageError, match=said):
        attackers(["mobilenet.facelib"], [tmp_path / "mine.onnx"])
    (tmp_path / "mine.toml").unlink()
    with pytest.raises(UsageError, match="needs a card"):
        attackers(["mobilenet.facelib"], [tmp_path / "mine.onnx"])


def test_a_network_that_does_not_fit_its_card_is_refused_before_the_evaluation(tmp_path):
    (tmp_path / "mine.tflite").write_bytes(weights("mobilenet.facelib").read_bytes())
    card = 'id = "mine"\nsize = 96\ntemplate = "arcface-112"\ndistance = "cosine"\nthreshold = 0.7\n'
    (tmp_path / "mine.toml").write_text(card)
    with pytest.raises(UsageError, match="cannot be run as its card says"):
        attackers(["mobilenet.facelib"], [tmp_path / "mine.tflite"])


def test_a_face_is_cut_out_as_large_as_the_own_network_wants_it(portrait, tmp_path, monkeypatch):
    from faceveil.evaluation.acquire import cut
    from faceveil.evaluation.own_network import OwnNetwork
    from faceveil.faces import find_faces

    monkeypatch.setattr(OwnNetwork, "_try", lambda self: None)
    (tmp_path / "mine.onnx").write_bytes(b"x")
    card = 'id = "mine"\nsize = 224\ntemplate = "arcface-112"\ndistance = "cosine"\nthreshold = 0.7\n'
    (tmp_path / "mine.toml").write_text(card)
    inside, own = attackers(["mobilenet.facelib"], [tmp_path / "mine.onnx"])
    (face,) = find_faces(portrait)
    small, large = (cut(portrait, face, one).astype(float) for one in (inside, own))
    assert np.abs(cv2.resize(large, (112, 112), interpolation=cv2.INTER_AREA) - small).mean() < 6


def test_tables_and_commands_that_make_no_sense_are_refused_with_the_reason(tmp_path):
    table = tmp_path / "table.csv"
    table.write_bytes("photo,person\na.png,Zo\xeb\n".encode("latin-1"))
    with pytest.raises(UsageError, match="UTF-8"):
        read_table(table, ("photo", "person"))
    table.write_text("photo,person\na.png\n")
    with pytest.raises(UsageError, match="row without all"):
        read_table(table, ("photo", "person"))
    table.write_text("10\t300\nAnn\tone\ttwo\n")
    with pytest.raises(UsageError, match="numbers"):
        read_pairs(table)
    with pytest.raises(UsageError, match="split into words"):
        command("blur '{input} {output}")


def test_the_evaluation_knows_neither_methods_nor_pipeline():
    code = (
        "import sys, faceveil.evaluation, faceveil.report; "
        "print([m for m in sys.modules if m.startswith(('faceveil.methods', 'faceveil.pipeline'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
