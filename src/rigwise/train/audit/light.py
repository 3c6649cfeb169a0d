"""Colour as people see it, and blur, from pixels. Pure numpy.

`H` height, `W` width in pixels.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_LEVELS = np.arange(256, dtype=np.float64) / 255
_LINEAR = np.where(_LEVELS <= 0.04045, _LEVELS / 12.92, ((_LEVELS + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""Light of each 8-bit sRGB level (IEC 61966-2-1)."""
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], dtype=np.float32)
"""From linear sRGB to CIE XYZ under D65 (IEC 61966-2-1)."""
_WHITE = _XYZ.sum(axis=1)

BLUR_WINDOW_PX = 11
"""Length of the blur that a picture is compared with (Crete et al. 2007; scikit-image's `blur_effect` has the same)."""


def lab(pixels: npt.NDArray[np.uint8]) -> Floats:
    """CIE L*a*b* of 8-bit sRGB pixels `(..., 3)`: L* is 0 to 100 (CIE 15:2004, section 8.2).

    >>> [round(float(value), 1) for value in lab(np.array([255, 0, 0], dtype=np.uint8))]
    [53.2, 80.1, 67.2]
    """
    relative = (_LINEAR[pixels] @ _XYZ.T) / _WHITE
    bent = np.where(relative > (6 / 29) ** 3, np.cbrt(relative), relative / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(bent, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)


def blur_effect(grey: Floats) -> float:
    """How blurred a grey picture `(H, W)` is, 0 sharp to 1: the share of its edges that a further blur leaves alone.

    F. Crete et al., "The blur effect: perception and estimation with a new no-reference perceptual blur metric",
    SPIE 6492 (2007). A picture without any edge is 1.
    """
    return max(_kept_by_blur(grey), _kept_by_blur(grey.T))


def _kept_by_blur(grey: Floats) -> float:
    """The share of the differences along the rows that are still there after a blur along the rows."""
    if grey.shape[1] <= BLUR_WINDOW_PX:
        return 0.0
    sums = np.cumsum(np.pad(grey, ((0, 0), (1, 0))), axis=1, dtype=np.float64)
    blurred = (sums[:, BLUR_WINDOW_PX:] - sums[:, :-BLUR_WINDOW_PX]) / BLUR_WINDOW_PX
    margin = BLUR_WINDOW_PX // 2
    sharp = np.abs(np.diff(grey[:, margin : margin + blurred.shape[1]], axis=1))
    lost = np.maximum(0, sharp - np.abs(np.diff(blurred, axis=1)))
    total = float(sharp.sum())
    return 1 - float(lost.sum()) / total if total else 1.0
