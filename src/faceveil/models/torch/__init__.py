"""What needs gradients. Everything here needs the `torch` extra; nothing outside imports it at the top."""

from faceveil.errors import MissingExtra

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra("A network in torch", "torch") from error
