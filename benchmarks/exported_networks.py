"""Which of timm's networks can be exported, whether the program equals the network, and how fast it is beside it.

python benchmarks/exported_networks.py [NAME ...]

One network of each family, random weights, batches of uint8 pictures of the size it was made for, on one CPU thread.
Speed is the median ratio of interleaved passes, eager over exported: above 1 the program is faster.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from rigwise.train.export.picture_classifier import PictureClassifier
from rigwise.train.export.program import CannotExport, exported, loaded
from rigwise.train.export.proof import NotEqual, prove
from rigwise.train.network.model import build_model

NETWORKS = (
    "tf_efficientnet_lite0", "resnet18", "mobilenetv3_small_050", "convnext_atto", "vit_tiny_patch16_224",
    "swin_tiny_patch4_window7_224", "efficientvit_b0", "ghostnet_100", "repvgg_a0", "regnetx_002", "levit_128s",
    "mobilevit_xxs", "xcit_nano_12_p16_224", "test_maxvit", "test_coatnet", "test_nfnet",
    "test_mambaout",
)  # fmt: skip
NUM_PASSES = 5
BATCH_SIZE = 4


def main() -> int:
    torch.set_num_threads(1)
    print(f"{'network':<30} {'pixels':>6} {'export, CPU s':>13} {'file, MB':>9} {'speed':>6}  largest difference")
    for name in sys.argv[1:] or NETWORKS:
        print(f"{name:<30} {row(name)}", flush=True)
    return 0


def row(name: str) -> str:
    """The figures of one network, or why it has none."""
    built = build_model(name, 5, weights="none")
    size = built.image_size
    images = torch.randint(0, 256, (BATCH_SIZE, 3, size, size), dtype=torch.uint8)
    classifier = PictureClassifier(built).eval()
    began = time.process_time()
    try:
        content = exported(classifier, torch.zeros_like(images))
        seconds = time.process_time() - began
        proof = prove(content, classifier, images)
    except (CannotExport, NotEqual, ValueError) as error:
        return f"not exported: {error}"
    speed = ratio(classifier, loaded(content).module(), images)
    difference = proof.partition("probability ")[2]
    return f"{size:>6} {seconds:>13.1f} {len(content) / 1e6:>9.1f} {speed:>6.2f}  {difference}"


@torch.inference_mode()
def ratio(eager: Callable[[Tensor], Tensor], program: Callable[[Tensor], Tensor], images: Tensor) -> float:
    """Median of eager over exported time, in interleaved passes after one that is left out."""
    ratios = []
    for _ in range(NUM_PASSES + 1):
        times = []
        for each in (eager, program):
            began = time.process_time()
            each(images)
            times.append(time.process_time() - began)
        ratios.append(times[0] / times[1])
    return statistics.median(ratios[1:])


if __name__ == "__main__":
    sys.exit(main())
