"""Write StyleGAN2 checkpoints and their renders with an implementation that is not ours.

    python stylegan2_oracle.py WHEEL_FOLDER OUT

WHEEL_FOLDER is an unpacked draggan 1.1.6, which carries the authors' networks (with the code that pickles
them) and the network of the torch layout. Runs in a process of its own, so that its modules stay out of the
tests.
"""

import pickle
import sys
import types
from pathlib import Path

import numpy as np
import torch


def authors(folder: Path, out: Path, clamp: float | None) -> None:
    sys.modules["requests"] = types.ModuleType(
        "requests"
    )  # the authors' code downloads with it; here nothing does
    sys.path.insert(0, str(folder / "draggan/stylegan2"))
    import dnnlib
    from training import networks

    synthesis = {"channel_base": 1024, "channel_max": 32, "num_fp16_res": 0, "conv_clamp": clamp}
    network = networks.Generator(32, 0, 32, 32, 3, {"num_layers": 3}, synthesis).eval()
    randomise(network)
    network.mapping.w_avg.normal_()
    stored = {"G": None, "D": None, "G_ema": network, "training_set_kwargs": dnnlib.EasyDict(path="x")}
    (out / f"authors-{clamp}.pkl").write_bytes(pickle.dumps(stored))
    for protocol in (2, 3, 4, 5):
        (out / f"protocol-{protocol}.pkl").write_bytes(pickle.dumps(stored, protocol))
    z, wplus = torch.randn(2, 32), torch.randn(2, network.num_ws, 32)
    image = network.synthesis(wplus, noise_mode="const")
    image = image[0] if isinstance(image, tuple) else image
    save(
        out / f"authors-{clamp}.npz",
        z=z,
        w=network.mapping(z, None)[:, 0],
        wplus=wplus,
        image=image,
        mean=network.mapping.w_avg,
    )


def torch_layout(folder: Path, out: Path) -> None:
    package = types.ModuleType("stylegan2")
    package.__path__ = [str(folder / "draggan/deprecated/stylegan2")]
    sys.modules["stylegan2"] = package
    from stylegan2.model import Generator

    network = Generator(16, 32, 4).eval()
    randomise(network)
    mean = torch.randn(32)
    torch.save({"g_ema": network.state_dict(), "latent_avg": mean, "iter": 7}, out / "torch.pt")
    z, wplus = torch.randn(2, 32), torch.randn(2, network.n_latent, 32)
    image = network([wplus], input_is_latent=True, randomize_noise=False)[0]
    save(out / "torch.npz", z=z, w=network.style(z), wplus=wplus, image=image, mean=mean)


def randomise(network: torch.nn.Module) -> None:
    """Biases and noise start at zero, which would hide their mistakes."""
    for name, parameter in network.named_parameters():
        if "bias" in name or "noise" in name:
            parameter.add_(0.3 * torch.randn_like(parameter))


def save(path: Path, **tensors: torch.Tensor) -> None:
    np.savez(path, **{name: tensor.numpy() for name, tensor in tensors.items()})


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.no_grad():
        for clamp in (None, 0.5):
            authors(Path(sys.argv[1]), Path(sys.argv[2]), clamp)
        torch_layout(Path(sys.argv[1]), Path(sys.argv[2]))
