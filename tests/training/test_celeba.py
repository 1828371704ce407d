"""CelebA's training, end to end on a tiny set in its layout: written, trained, saved, read by users' code."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from training.celeba import TEST, TRAIN, crop, main, make_network, read_celeba
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import UsageError
from faceveil.models.attrnet import AttrNet, Output
from faceveil.models.torch.resnet50 import ResNet50

NAMES = ["Warm", "Wearing_Hat", *(f"Label_{n}" for n in range(38))]


@pytest.fixture(scope="module")
def celeba(tmp_path_factory) -> Path:
    """24 pictures; the first label says whether they are more red than blue, the others are chance."""
    folder, rng = tmp_path_factory.mktemp("celeba"), np.random.default_rng(0)
    (folder / "img_align_celeba").mkdir()
    rows, parts = [], []
    for n in range(24):
        warm = n % 2 == 0
        picture = rng.integers(0, 120, (218, 178, 3)).astype(np.uint8)
        picture[..., 2 if warm else 0] += 120  # OpenCV's order: blue, green, red
        name = f"{n + 1:06d}.jpg"
        cv2.imwrite(str(folder / "img_align_celeba" / name), picture)
        values = [1 if warm else -1, *rng.choice([-1, 1], 39)]
        rows.append(name + " " + " ".join(f"{v:2d}" for v in values))
        parts.append(f"{name} {0 if n < 16 else 1 if n < 18 else 2}")
    listing = [str(len(rows)), " ".join(NAMES) + " ", *rows]
    (folder / "list_attr_celeba.txt").write_text("\n".join(listing) + "\n")
    (folder / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return folder


def test_the_layout_is_read(celeba) -> None:
    photos = read_celeba(celeba, TRAIN)
    assert len(photos.paths) == 16 and photos.targets.shape == (16, 40)
    assert photos.labels[:3] == ("warm", "wearing hat", "label 0")
    assert photos.targets[:4, 0].tolist() == [1, 0, 1, 0]
    assert len(read_celeba(celeba, TEST).paths) == 6 and len(read_celeba(celeba).paths) == 24


def test_a_list_that_was_cut_off_is_refused(celeba, tmp_path) -> None:
    whole = (celeba / "list_attr_celeba.txt").read_text().splitlines()
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(whole[:-1]))
    with pytest.raises(UsageError, match="not whole"):
        read_celeba(tmp_path)


def test_a_folder_that_is_no_celeba_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_celeba(tmp_path)


def test_the_crop_is_ffhqs_and_lies_within_the_photo(celeba) -> None:
    """Eyes in FFHQ's crop are at 0.47 of its height: a red line drawn through CelebA's eyes must be there."""
    path = celeba / "line.png"
    picture = np.zeros((218, 178, 3), np.uint8)
    picture[110:114, :, 2] = 255
    cv2.imwrite(str(path), picture)
    face = crop(path)
    assert face.shape == (128, 128, 3)
    row = face[..., 0].mean(axis=1).argmax()
    assert 0.44 < row / 128 < 0.50


def test_mobilenet_learns_is_saved_and_reads_photos_for_users(celeba, tmp_path, examples) -> None:
    path = tmp_path / "celeba.npz"
    main([str(celeba), str(path), "--trunk", "mobilenetv2", "--epochs", "15", "--batch", "8"])
    net = AttrNet(path)
    assert net.labels == tuple(name.replace("_", " ").lower() for name in NAMES)
    test = read_celeba(celeba, TEST)
    warm = net.read(np.stack([crop(photo) for photo in test.paths]))[:, 0]
    assert ((warm > 0.5) == (test.targets[:, 0] > 0.5)).all()
    told = CliRunner().invoke(
        app, ["attributes", str(examples / "portrait-1.jpg"), "--attrnet", str(path), "--json"]
    )
    assert told.exit_code == 0
    assert list(json.loads(told.stdout)["photos"][0]["faces"][0]["labels"]) == list(net.labels)


def test_resnet50_in_torch_and_openvino_agree(celeba, tmp_path) -> None:
    torch.manual_seed(0)
    network = make_network("resnet50", 40)
    photos = read_celeba(celeba, TEST)
    images = np.stack([crop(path) for path in photos.paths])
    batch = torch.from_numpy(images.transpose(0, 3, 1, 2) / np.float32(255))
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    network.train()(batch)  # statistics as training leaves them, not the zeros and ones of the start
    for value in network.state_dict().values():  # what half precision keeps
        value.copy_(value.half())
    with torch.no_grad():
        expected = torch.sigmoid(network.eval()(batch))
    labels = read_celeba(celeba).labels
    network.save(tmp_path / "resnet.npz", [Output(label, "", True) for label in labels])
    found = AttrNet(tmp_path / "resnet.npz").read(images)
    assert np.abs(found - expected.numpy()).max() < 1e-4
    assert np.ptp(found, axis=0).max() > 1e-3  # it does look at the picture


def test_resnet50_trains_with_the_papers_head(celeba, tmp_path, capsys) -> None:
    path = tmp_path / "resnet.npz"
    main([str(celeba), str(path), "--epochs", "2", "--batch", "8"])
    shown = capsys.readouterr().out
    losses = [float(line.rsplit(" ", 1)[1]) for line in shown.splitlines() if line.startswith("epoch")]
    assert losses[1] < losses[0]
    with np.load(path) as stored:
        shapes = [stored[f"head.{layer}.weight"].shape for layer in (0, 2, 4)]
    assert shapes == [(1024, 2048), (1024, 1024), (40, 1024)]


def test_resnet50_has_torchvisions_parameters() -> None:
    """25,557,032 with its classifier of 1,000 (2,049,000), as published; and its names."""
    network = ResNet50()
    assert sum(p.numel() for p in network.parameters()) == 25_557_032 - 2_049_000
    names = network.state_dict()
    assert {"conv1.weight", "layer1.0.downsample.1.running_var", "layer4.2.conv3.weight"} <= set(names)
    assert names["layer3.5.conv2.weight"].shape == (256, 256, 3, 3)
