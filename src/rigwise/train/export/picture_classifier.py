"""A network as one module from pictures to probabilities: what is exported, and what is scored before that."""

from torch import Tensor, nn

from rigwise.train.network.model import BuiltModel
from rigwise.train.step.normalise import Normalise


class PictureClassifier(nn.Module):
    """uint8 pictures `(N, 3, S, S)` to probabilities `(N, C)`: normalisation, network and softmax in one."""

    mean: Tensor
    scale: Tensor

    def __init__(self, built: BuiltModel) -> None:
        super().__init__()
        normalise = Normalise(built.mean, built.std)
        self.network = built.model
        self.register_buffer("mean", normalise.mean)
        self.register_buffer("scale", normalise.scale)

    def forward(self, images: Tensor) -> Tensor:
        """Probabilities of each class, fp32; normalised as in training."""
        logits: Tensor = self.network((images.float() - self.mean) * self.scale)
        return logits.float().softmax(dim=1)
