"""FID's InceptionV3 and the Fréchet distance against torch-fidelity's own code, on random weights.

The true weights are on no package index; random ones exercise every layer, padding and pool all the same.
torch-fidelity asks for torchvision, which its network does not need: its files are loaded one by one.
"""

import ast
import importlib
import json
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import UnsafePickle, UsageError, WeightsError
from faceveil.evaluation.fidelity import frechet
from faceveil.models.inception import inception_features, read_inception, resized
from faceveil.photos import read_photo

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def fidelity(tmp_path_factory) -> Path:
    """The folder of torch-fidelity's source, importable file by file as `torch_fidelity.…`."""
    folder = tmp_path_factory.mktemp("fidelity")
    call = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "torch-fidelity==0.4.0"]
    if subprocess.run([*call, "--dest", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("torch-fidelity could not be downloaded from the package index")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    package = types.ModuleType("torch_fidelity")
    package.__path__ = [str(folder / "torch_fidelity")]
    sys.modules["torch_fidelity"] = package
    yield folder / "torch_fidelity"
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_fidelity"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def oracle(fidelity, tmp_path_factory):
    """torch-fidelity's network with random weights, and the file that holds them."""
    module = importlib.import_module("torch_fidelity.feature_extractor_inceptionv3")
    path = tmp_path_factory.mktemp("weights") / "random-inception.pth"
    torch.save(random_weights(module), path)
    return module.FeatureExtractorInceptionV3("random", ["2048"], str(path)), path


def random_weights(module) -> dict:
    """A state dict of the right names and shapes, with signals that neither vanish nor explode."""
    torch.manual_seed(0)
    shapes = {}

    class Recorder(module.FeatureExtractorInceptionV3):
        def load_state_dict(self, _):
            shapes.update({name: value.shape for name, value in self.state_dict().items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "load", lambda *_, **__: {})
        Recorder("shapes", ["2048"], "nothing")
    table = {}
    for name, shape in shapes.items():
        if name.endswith("num_batches_tracked"):
            table[name] = torch.tensor(0)
        elif name.endswith(("running_var", "bn.weight")):
            table[name] = 0.5 + torch.rand(shape)
        elif name.endswith(".weight"):
            table[name] = torch.randn(shape) * (2 / shape[1:].numel()) ** 0.5
        else:
            table[name] = 0.2 * torch.randn(shape)
    return table


@pytest.mark.parametrize("size", [(299, 299), (120, 200), (640, 411)])
def test_features_agree_with_torch_fidelity_s_network(oracle, size):
    network, path = oracle
    picture = np.random.default_rng(1).integers(0, 256, (*size, 3), dtype=np.uint8)
    expected = network(torch.from_numpy(picture.transpose(2, 0, 1)[None].copy()))[0][0].numpy()
    found = inception_features(path, picture)
    assert found.shape == (2048,) and expected.std() > 0.01
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_pictures_are_resized_as_tensorflow_1_did(fidelity):
    module = importlib.import_module("torch_fidelity.interpolate_compat_tensorflow")
    for size in ((32, 32), (500, 301), (299, 7)):
        picture = np.random.default_rng(2).integers(0, 256, (*size, 3), dtype=np.uint8)
        planes = torch.from_numpy(picture.transpose(2, 0, 1)[None].astype(np.float32))
        expected = module.interpolate_bilinear_2d_like_tensorflow1x(planes, (299, 299), align_corners=False)
        found = resized(picture, 299).transpose(2, 0, 1)
        np.testing.assert_allclose(found, expected[0].numpy(), atol=2e-3)


def test_the_frechet_distance_agrees_with_torch_fidelity_s_to_one_in_a_million(fidelity):
    source = ast.parse((fidelity / "metric_fid.py").read_text())
    wanted = [
        node for node in source.body
        if isinstance(node, ast.FunctionDef)
        and node.name in ("fid_features_to_statistics", "fid_statistics_to_metric")
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(400, 64)), rng.gamma(2, 0.7, size=(300, 64)) @ rng.normal(size=(64, 64))
    names = {"np": np, "torch": torch, "vprint": lambda *_: None, "KEY_METRIC_FID": "fid"}
    exec(compile(ast.Module(wanted, []), "metric_fid.py", "exec"), names)
    statistics = [names["fid_features_to_statistics"](torch.from_numpy(rows)) for rows in (one, other)]
    found = names["fid_statistics_to_metric"](*statistics, verbose=False)
    expected = found["fid"] if isinstance(found, dict) else found
    assert frechet(one, other) == pytest.approx(float(expected), rel=1e-6)


def test_older_torch_files_hold_the_same_weights(oracle, tmp_path):
    _, path = oracle
    older = tmp_path / "older.pth"
    torch.save(torch.load(path), older, _use_new_zipfile_serialization=False)
    one, other = read_inception(path), read_inception(older)
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_another_network_s_weights_are_refused_with_the_name_of_the_right_file(tmp_path):
    path = tmp_path / "torchvision.pth"
    torch.save(
        {"Conv2d_1a_3x3.conv.weight": torch.zeros(32, 3, 3, 3), "fc.weight": torch.zeros(1000, 2048)}, path
    )
    with pytest.raises(WeightsError, match=r"1000.*inception-2015-12-05"):
        read_inception(path)


def test_a_file_that_names_code_is_refused(tmp_path):
    path = tmp_path / "evil.pth"
    torch.save({"fc.weight": Path("x")}, path)
    with pytest.raises(UnsafePickle):
        read_inception(path)


def test_weights_that_lack_a_layer_are_refused_by_its_name(oracle, tmp_path):
    table = torch.load(oracle[1])
    del table["Mixed_6b.branch7x7_2.conv.weight"]
    path = tmp_path / "cut.pth"
    torch.save(table, path)
    with pytest.raises(WeightsError, match=r"Mixed_6b\.branch7x7_2"):
        inception_features(path, np.zeros((299, 299, 3), np.uint8))


def test_evaluate_gives_the_inception_fid_only_with_its_weights(oracle, examples, tmp_path):
    """On two portraits and their mirror images, with random weights: the figure is that of the features."""
    before, after = tmp_path / "before", tmp_path / "after"
    for name in ("portrait-1", "portrait-2"):
        pixels = read_photo(examples / f"{name}.jpg").pixels
        for folder, picture in ((before, pixels), (after, pixels[:, ::-1])):
            folder.mkdir(exist_ok=True)
            cv2.imwrite(str(folder / f"{name}.png"), np.ascontiguousarray(picture[..., ::-1]))
    call = ["evaluate", str(before), str(after), "--recognizer", "mobilefacenet.facesdk", "--no-restoration"]
    call += ["--report", str(tmp_path / "page.html"), "--json", str(tmp_path / "found.json"), "--overwrite"]
    done = CliRunner().invoke(app, [*call, "--inception", str(oracle[1])])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "found.json").read_text())
    rows = [
        np.stack(
            [inception_features(oracle[1], read_photo(file).pixels) for file in sorted(folder.iterdir())]
        )
        for folder in (before, after)
    ]
    assert found["utility"]["fid_inception"] == pytest.approx(frechet(*np.float64(rows)), rel=1e-4)
    assert found["utility"]["fid_inception_faces"] > 0
    assert len(found["parameters"]["inception_sha256"]) == 64
    assert "FID (Inception) of the photos" in (tmp_path / "page.html").read_text()
    assert any("FID of 2 photos is too high by chance" in text for text in found["warnings"])
    assert CliRunner().invoke(app, call).exit_code == 0
    assert json.loads((tmp_path / "found.json").read_text())["utility"]["fid_inception"] is None
    assert "FID (Inception)" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("more", "said"), [(["--no-utility"], "no-utility"), ([], "not a file")])
def test_inception_weights_are_asked_for_before_the_work(examples, tmp_path, more, said):
    call = ["evaluate", str(examples), str(examples), "--inception", str(tmp_path / "absent.pth"), *more]
    done = CliRunner().invoke(app, call)
    assert isinstance(done.exception, UsageError) and said in str(done.exception)
