"""A process that runs a Ray cluster for two workers until its input ends; with `--apart`, each has a node of its own.

It is a separate process because Ray reads its environment at import and leaves threads behind.
"""

import json
import sys
from typing import Any

from ray.cluster_utils import Cluster

STORE = {"object_store_memory": 80 * 2**20}


def main(folder: str, *, apart: bool) -> None:
    """Print the address and the process ids of the nodes that have a CPU, as a line of JSON; then wait."""
    head = {"num_cpus": 0 if apart else 2, "include_dashboard": False, "temp_dir": folder}
    cluster = Cluster(initialize_head=True, head_node_args=STORE | head)
    nodes = [cluster.add_node(num_cpus=1, **STORE) for _ in range(2)] if apart else [cluster.head_node]
    cluster.wait_for_nodes()
    print(json.dumps({"address": cluster.address, "nodes": [_process_of(node) for node in nodes]}), flush=True)
    sys.stdin.read()
    cluster.shutdown()


def _process_of(node: Any) -> int:
    (raylet,) = node.all_processes["raylet"]
    return int(raylet.process.pid)


if __name__ == "__main__":
    main(sys.argv[1], apart="--apart" in sys.argv)
