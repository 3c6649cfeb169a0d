"""The built-in language model: a small GPT-like decoder, its weights random.

Pre-norm blocks of causal attention and an MLP of four times the width; rotary positions, so that no context is too
long; the embedding is the output layer too (weight tying). Shapes: tokens and segments `(B, T)`, logits `(B, T, V)`,
hidden `(B, T, W)`, heads `(B, H, T, W / H)`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

ROTARY_BASE = 10_000.0
"""J. Su et al., "RoFormer", arXiv:2104.09864, section 3.3."""
MLP_RATIO = 4
"""A. Vaswani et al., "Attention is all you need", arXiv:1706.03762, section 3.3."""
INIT_STD = 0.02
"""GPT-2: A. Radford et al. (2019); residual layers are scaled by 1 / sqrt(2 * layers) as section 2.3 there has it."""

RESIDUAL = ("attention.out.weight", "mlp.2.weight")
"""The layers whose output is added to what they were given."""


class Decoder(nn.Module):
    """Tokens to the logits of the next ones.

    Args:
        vocabulary_size: `V`.
        layers: blocks.
        width: `W`, a multiple of twice the heads.
        heads: `H`.
    """

    def __init__(self, vocabulary_size: int, *, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.head_width = width // heads
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.apply(_initialise)
        for name, weight in self.named_parameters():
            if name.endswith(RESIDUAL):
                nn.init.normal_(weight, std=INIT_STD / (2 * layers) ** 0.5)

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """Logits `(B, T, V)`; with `segments`, no token sees one of another document."""
        mask = None if segments is None else same_document(segments)
        rotation = rotations(tokens.shape[1], self.head_width, tokens.device)
        hidden = self.embedding(tokens)
        for block in self.blocks:
            hidden = block(hidden, rotation, mask)
        return functional.linear(self.norm(hidden), self.embedding.weight)


class Block(nn.Module):
    """Attention, then an MLP, each added to what it is given."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, MLP_RATIO * width), nn.GELU(), nn.Linear(MLP_RATIO * width, width))

    def forward(self, hidden: Tensor, rotation: Tensor, mask: Tensor | None) -> Tensor:
        """Hidden `(B, T, W)`."""
        attended: Tensor = hidden + self.attention(self.attention_norm(hidden), rotation, mask)
        transformed: Tensor = self.mlp(self.mlp_norm(attended))
        return attended + transformed


class Attention(nn.Module):
    """Causal self-attention with rotary positions."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, hidden: Tensor, rotation: Tensor, mask: Tensor | None) -> Tensor:
        """Hidden `(B, T, W)`; `mask` `(B, 1, T, T)` says what each token sees, None everything before it."""
        batch, length, width = hidden.shape
        shaped = self.qkv(hidden).view(batch, length, 3, self.heads, self.head_width).permute(2, 0, 3, 1, 4)
        query, key, value = shaped.unbind(0)
        query, key = rotated(query, rotation), rotated(key, rotation)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None)
        joined: Tensor = self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return joined


def same_document(segments: Tensor) -> Tensor:
    """`(B, 1, T, T)`: whether the token of a row sees that of a column, before it and of the same document."""
    same = segments[:, None, :, None] == segments[:, None, None, :]
    return same & torch.ones(segments.shape[1], segments.shape[1], dtype=torch.bool, device=segments.device).tril()


def rotations(length: int, head_width: int, device: torch.device) -> Tensor:
    """`(2, T, W / H / 2)`: cosine and sine of each position's angles, fp32."""
    exponents = torch.arange(0, head_width, 2, device=device, dtype=torch.float32) / head_width
    angles = torch.arange(length, device=device, dtype=torch.float32)[:, None] * ROTARY_BASE**-exponents
    return torch.stack([angles.cos(), angles.sin()])


def rotated(heads: Tensor, rotation: Tensor) -> Tensor:
    """Heads `(B, H, T, W / H)` turned by the angles of their positions."""
    cosine, sine = rotation.to(heads.dtype)
    first, second = heads.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INIT_STD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
