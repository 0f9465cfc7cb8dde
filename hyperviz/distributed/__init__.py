"""Real ranks on this machine: start them, bring their results home, and give them a network of a stated speed."""

from hyperviz.distributed.launch import check_launch, launch
from hyperviz.distributed.link import Link
from hyperviz.distributed.rank_error import RankError
from hyperviz.distributed.reports import RankReport
from hyperviz.distributed.world import RankInfo, current_link, current_rank, process_group

__all__ = ["Link", "RankError", "RankInfo", "RankReport", "check_launch", "current_link", "current_rank", "launch", "process_group"]
