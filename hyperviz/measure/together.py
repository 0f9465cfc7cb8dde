"""What ranks decide together, so that each runs a program that communicates as often as all others do."""

from __future__ import annotations

import torch.distributed as dist


def any_rank(flag: bool, together: bool) -> bool:
    """Whether ``flag`` holds on any rank; on this one where ranks do not measure together."""
    return bool(most(int(flag), together))


def most(number: int, together: bool) -> int:
    """The largest ``number`` of all ranks; this one's where ranks do not measure together, or there are no others."""
    if not together or not (dist.is_available() and dist.is_initialized()):
        return number
    numbers: list[int] = [0] * dist.get_world_size()
    dist.all_gather_object(numbers, number)
    return max(numbers)
