"""Several processes that train one network: each sees its own faces, and all take the same mean step."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import distributed, multiprocessing, nn


class Team:
    """One process's view of it; a team of one needs no messages."""

    def __init__(self, rank: int, size: int, meeting: Path) -> None:
        self.rank, self.size = rank, size
        self.parent = os.getppid()
        if size > 1:
            distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=size)

    @property
    def leads(self) -> bool:
        """The first process saves, evaluates and decides when to stop."""
        return self.rank == 0

    def wait(self) -> None:
        if self.size > 1:
            distributed.barrier()

    def agree(self, stop: bool) -> bool:
        """What the leader says; it also stops when the process that started the team is gone."""
        if self.size == 1:
            return stop
        word = torch.tensor([float(stop or os.getppid() != self.parent)])
        distributed.broadcast(word, src=0)
        return bool(word.item())

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by the mean over the team."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        for gradient, mean in zip(
            gradients, (flat / self.size).split([g.numel() for g in gradients]), strict=True
        ):
            gradient.copy_(mean.view_as(gradient))


def run_team(work: Callable[[Team, Any], None], size: int, arguments: Any) -> None:
    """Run `work(team, arguments)` in `size` processes of one thread each."""
    with TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        if size == 1:
            _member(0, work, 1, meeting, arguments)
        else:
            multiprocessing.spawn(_member, (work, size, meeting, arguments), nprocs=size)


def _member(rank: int, work: Callable[[Team, Any], None], size: int, meeting: Path, arguments: Any) -> None:
    torch.set_num_threads(1)
    work(Team(rank, size, meeting), arguments)
    if size > 1:
        distributed.destroy_process_group()
