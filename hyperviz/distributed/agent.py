"""The process between a launch and its ranks: torch's elastic agent. Run by its path, so that nothing but torch is imported here."""

import json
import logging
import sys
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

# Not "-m": that would put the working directory first on the ranks' path, where this process may not have had it.
_RANK = "import sys; sys.path[:1] == [''] and sys.path.pop(0); from hyperviz.distributed.rank import main; main(sys.argv[1])"


def main(folder: Path) -> None:
    """Starts the ranks of the job in ``folder``, ends all when one fails, and writes their exit codes to ``exits.json``."""
    job = json.loads((folder / "job.json").read_text())
    # What ended how is told by the launch, in one place.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=job["num_ranks"],
        run_id=job["token"],
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        monitor_interval=0.05,
        logs_specs=DefaultLogsSpecs(log_dir=str(folder / "logs"), redirects=Std.ALL),
    )
    try:
        elastic_launch(config, sys.executable)("-c", _RANK, str(folder))
    except ChildFailedError as error:
        codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        (folder / "exits.json").write_text(json.dumps(codes))
        sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
