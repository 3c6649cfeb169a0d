"""Tries the user's container engine on the GPU: an image that is there already, one bounded run, nothing left over."""

import re

from rigwise.probes.answers import parsed
from rigwise.records.deep import ContainerTrial
from rigwise.records.reading import Reading
from rigwise.sources.source import Source

KEY = "container-probe"
LIMIT_SECONDS = 45.0
SCRIPT = r"""
name=rigwise-trial-$$
for engine in docker podman; do
  command -v $engine >/dev/null 2>&1 && timeout 5 $engine info >/dev/null 2>&1 && break
  engine=
done
echo "engine: $engine"
[ -n "$engine" ] || exit 0
images=$(timeout 5 $engine images --format '{{.Repository}}:{{.Tag}}' 2>/dev/null | grep -v '<none>')
for wanted in nvidia/cuda pytorch nvcr.io tensorflow vllm ubuntu debian rocky fedora; do
  image=$(echo "$images" | grep -m1 "$wanted") && break
done
echo "image: $image"
[ -n "$image" ] || exit 0
trap 'timeout 5 $engine rm -f $name >/dev/null 2>&1' EXIT INT TERM
gpus='--gpus all'
[ $engine = podman ] && gpus='--device nvidia.com/gpu=all'
timeout 25 $engine run --rm --name $name --pull=never --network=none $gpus --entrypoint nvidia-smi "$image" -L 2>&1
echo "exit: $?"
"""
"""`--pull=never`: nothing is downloaded. The toolkit puts nvidia-smi into the container, whatever its image holds."""


def read_container_trial(source: Source) -> Reading[ContainerTrial]:
    """Whether a container sees the GPUs, tried with docker, else podman; up to 45 seconds."""
    answer = source.command(["sh", "-c", SCRIPT], key=KEY, timeout_seconds=LIMIT_SECONDS)
    return parsed("container trial", answer, container_trial)


def container_trial(text: str) -> ContainerTrial:
    r"""What the trial showed.

    >>> container_trial("engine: docker\nimage: ubuntu:24.04\nGPU 0: NVIDIA T4 (UUID: GPU-1)\nexit: 0").num_gpus
    1
    >>> container_trial("engine: docker\nimage: ubuntu:24.04\ndocker: Error response from daemon: no\nexit: 125").error
    'docker: Error response from daemon: no'
    """
    engine = re.search(r"^engine: *(\S*)", text, re.MULTILINE)
    if engine is None:
        raise ValueError(text)
    image = re.search(r"^image: *(\S*)", text, re.MULTILINE)
    ended = re.search(r"^exit: (\d+)$", text, re.MULTILINE)
    said = [
        line.strip() for line in text.splitlines() if not re.match(r"(engine|image|exit): ?", line) and line.strip()
    ]
    return ContainerTrial(
        engine=engine[1],
        image=image[1] if image else "",
        num_gpus=len(re.findall(r"^GPU \d+: ", text, re.MULTILINE)),
        exit_status=int(ended[1]) if ended else None,
        error=said[-1] if said and (ended is None or ended[1] != "0") else "",
    )
