"""A Ray cluster of the workers of a gang (docs/JOBS.md): rank 0 has the head and the driver, the others a node each.

The driver estimates pi: each node throws points in tasks of its own.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

JOIN_SECONDS = 120
# ports are free ones, so that several workers of a gang can be on one machine
PORTS = ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]


def start(*arguments: str) -> None:
    """Returns when the processes of the node run. They are daemons: the runner ends them with the job."""
    program = Path(sys.executable).with_name("ray")
    common = ["--disable-usage-stats", "--num-cpus=1", "--object-store-memory=100000000", *PORTS]
    subprocess.run([program, "start", *arguments, *common], check=True, stdin=subprocess.DEVNULL)


def nodes() -> list[str]:
    return [node["NodeID"] for node in ray.nodes() if node["Alive"]]


@ray.remote(num_cpus=1)
def inside(seed: int, points: int) -> tuple[str, int]:
    """How many of the points are in the circle, and on which node that was found out."""
    generator = random.Random(seed)
    hits = sum(generator.random() ** 2 + generator.random() ** 2 <= 1 for _ in range(points))
    return ray.get_runtime_context().get_node_id(), hits


def drive(folder: Path, world: int, points: int) -> None:
    deadline = time.monotonic() + JOIN_SECONDS
    while len(nodes()) < world:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(nodes())} of {world} nodes have joined")
        time.sleep(0.2)
    on = [NodeAffinitySchedulingStrategy(node_id=node, soft=False) for node in nodes()]
    results = []
    for seed in range(4 * world):
        task = inside.options(scheduling_strategy=on[seed % world])
        results.append(task.remote(seed, points))
    hits = {}
    for done, result in enumerate(results, start=1):
        node, found = ray.get(result)
        hits[node] = hits.get(node, 0) + found
        with (folder / "progress").open("a") as progress:
            progress.write(json.dumps({"step": done, "steps": len(results)}) + "\n")
    pi = 4 * sum(hits.values()) / (points * len(results))
    (folder / "outputs" / "pi.json").write_text(json.dumps({"pi": pi, "nodes": len(hits)}))


def wait_for_end(address: tuple[str, int]) -> None:
    """The node is needed as long as the head is there."""
    while True:
        time.sleep(1)
        try:
            socket.create_connection(address, timeout=5).close()
        except OSError:
            return


def main() -> int:
    folder = Path(os.environ["ATELIER_JOB_DIR"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    arguments = json.loads((folder / "input.json").read_text())["parameters"]["arguments"]
    # SIGTERM ends the program in an orderly way: what is not done is done again by the next attempt
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # the paths of sockets must be short, and all nodes have the same: not TMPDIR
    temporary = f"/tmp/ray-{port}"
    try:
        if rank > 0:
            # it may be there before the head
            for _ in range(JOIN_SECONDS):
                try:
                    start(f"--address={host}:{port}")
                    break
                except subprocess.CalledProcessError:
                    time.sleep(1)
            else:
                raise TimeoutError("the head is not there")
            wait_for_end((host, port))
            return 0
        start("--head", f"--port={port}", f"--temp-dir={temporary}", "--include-dashboard=false")
        ray.init(address=f"{host}:{port}", log_to_driver=False)
        drive(folder, world, int(arguments["points"]))
        return 0
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
