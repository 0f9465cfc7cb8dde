"""A script for plain ``torchrun``: each rank writes what it computed to the folder it is given."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from hyperviz.distributed import process_group

with process_group() as here:
    total = torch.tensor(float(here.rank + 1), device=here.device)
    dist.all_reduce(total)
    (Path(sys.argv[1]) / str(here.rank)).write_text(f"rank {here.rank} of {here.num_ranks} on {here.backend}: {total.item()}")
