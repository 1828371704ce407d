"""StyleGAN2 checkpoints: both layouts against other people's implementations, and files that must not run."""

import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from faceveil.cli import app
from faceveil.errors import UnsafePickle, UsageError, WeightsError
from faceveil.models.stylegan2 import read_stylegan2
from faceveil.models.torch.stylegan2 import StyleGan2
from faceveil.photos import read_photo

ORACLE = "draggan==1.1.6"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> Path:
    """Files that the oracle wrote, with what it renders from them."""
    folder = tmp_path_factory.mktemp("oracle")
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", ORACLE, "-d", str(folder)]
    if subprocess.run(download, capture_output=True, check=False).returncode:
        pytest.skip(f"{ORACLE}, the independent implementation, cannot be downloaded here")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "wheel")
    script = Path(__file__).with_name("stylegan2_oracle.py")
    subprocess.run(
        [sys.executable, str(script), str(folder / "wheel"), str(folder)], check=True, capture_output=True
    )
    return folder


@pytest.mark.parametrize("name", ["authors-None.pkl", "authors-0.5.pkl", "torch.pt"])
def test_a_checkpoint_renders_what_the_other_implementation_renders(checkpoints: Path, name: str) -> None:
    path = checkpoints / name
    network = StyleGan2(read_stylegan2(path))
    with np.load(path.with_suffix(".npz")) as expected, torch.no_grad():
        assert network.slots == expected["wplus"].shape[1]
        assert network.size == expected["image"].shape[-1]
        assert np.allclose(network.w_mean, expected["mean"])
        assert np.abs(network.mapping(torch.from_numpy(expected["z"])).numpy() - expected["w"]).max() < 1e-5
        image = network(torch.from_numpy(expected["wplus"])).numpy()
        assert np.abs(image - expected["image"]).max() < 1e-4 * np.abs(expected["image"]).max()


def test_the_clamp_of_a_network_in_half_precision_is_kept(checkpoints: Path) -> None:
    assert read_stylegan2(checkpoints / "authors-0.5.pkl").clamp == 0.5
    assert read_stylegan2(checkpoints / "authors-None.pkl").clamp is None


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_of_any_python_is_read(checkpoints: Path, protocol: int) -> None:
    read = read_stylegan2(checkpoints / f"protocol-{protocol}.pkl")
    last = read_stylegan2(checkpoints / "authors-0.5.pkl")
    assert (read.constant == last.constant).all()
    assert all(
        (a.kernel == b.kernel).all() for a, b in zip(read.convolutions, last.convolutions, strict=True)
    )


class Exploit:
    def __init__(self, function, *arguments) -> None:
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("place", ["alone", "in G_ema", "in a tensor"])
def test_a_pickle_that_would_run_code_is_refused_and_does_not(
    tmp_path: Path, place: str, checkpoints: Path
) -> None:
    ran = tmp_path / "ran"
    exploit = pickle.dumps(Exploit(Path.touch, ran))
    if place == "in G_ema":
        exploit = pickle.dumps({"G_ema": Exploit(eval, f"open({str(ran)!r}, 'w')")})
    if place == "in a tensor":  # torch's storages are files of their own inside the pickle
        inner = pickle.dumps(Exploit(Path.touch, ran))
        exploit = pickle.dumps({"G_ema": Exploit(torch.storage._load_from_bytes, inner)})
    (tmp_path / "x.pkl").write_bytes(exploit)
    with pytest.raises(UnsafePickle):
        read_stylegan2(tmp_path / "x.pkl")
    assert not ran.exists()


def test_the_source_code_inside_a_pickle_is_never_run(tmp_path: Path, checkpoints: Path) -> None:
    """The authors' loader executes it; here even a broken source is of no interest."""
    data = (checkpoints / "authors-None.pkl").read_bytes()
    assert b"import numpy as np" in data
    (tmp_path / "x.pkl").write_bytes(data.replace(b"import numpy as np", b"raise SystemExit()"))
    assert read_stylegan2(tmp_path / "x.pkl").size == 32


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.pkl", pickle.dumps({"a": 1})), ("x.pkl", b""), ("x.pkl", b"\x80\x04K\x01."), ("x.pt", b"nonsense")],
)
def test_a_file_that_is_no_checkpoint_is_refused_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeightsError, match="x\\.p"):
        read_stylegan2(tmp_path / name)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="not a file"):
        read_stylegan2(tmp_path / "none.pkl")


def test_sample_draws_from_a_checkpoint_of_the_users_own(checkpoints: Path, tmp_path: Path) -> None:
    network = ["--generator", "stylegan2", "--weights", str(checkpoints / "authors-None.pkl"), "--seed", "1"]
    for size, folder in (("32", "full"), ("16", "half")):
        CliRunner().invoke(
            app,
            ["sample", "2", "-o", str(tmp_path / folder), "--size", size, *network],
            catch_exceptions=False,
        )
    full, half = (read_photo(tmp_path / folder / "face-0001.png").pixels for folder in ("full", "half"))
    assert full.shape == (32, 32, 3) and half.shape == (16, 16, 3)
    means = full.reshape(16, 2, 16, 2, 3).mean(axis=(1, 3))
    unclipped = (full.reshape(16, 2, 16, 2, 3) % 255 != 0).all(axis=(1, 3))
    assert np.abs(means - half)[unclipped].max() <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--generator", "stylegan2"], "--weights FILE"),
        (["--generator", "biggan"], "mobilestylegan and stylegan2"),
        (["--weights", "x.pkl"], "--generator stylegan2"),
    ],
)
def test_a_generator_that_is_not_fully_named_is_refused(tmp_path: Path, arguments, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CliRunner().invoke(app, ["sample", "1", "-o", str(tmp_path), *arguments], catch_exceptions=False)
