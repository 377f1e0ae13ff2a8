"""The user's pictures. They are read without torch, so invalid inputs fail within a second."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from job import InputError

FORMATS = ("JPEG", "PNG", "WEBP")
MAX_PIXELS = 64_000_000
MIN_EDGE = 64


@dataclass(frozen=True)
class Picture:
    """pixels: float32 [3, resolution, resolution], from -1 to 1.

    time_ids: original height and width, top and left edge of the crop, height and width after it. For SDXL.
    """

    pixels: np.ndarray
    time_ids: tuple[int, int, int, int, int, int]


def read(path: Path, resolution: int) -> Picture:
    """Opens a picture, turns it as its EXIF orientation says, and crops its centre to a square.

    Raises InputError if the file is no picture, or too small or too large.
    """
    image = _open(path)
    width, height = image.size
    scale = resolution / min(width, height)
    size = max(resolution, round(width * scale)), max(resolution, round(height * scale))
    left, top = (size[0] - resolution) // 2, (size[1] - resolution) // 2
    image = image.resize(size, Image.Resampling.LANCZOS).crop((left, top, left + resolution, top + resolution))
    pixels = np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 127.5 - 1
    return Picture(pixels, (height, width, top, left, resolution, resolution))


def _open(path: Path) -> Image.Image:
    # the size is checked before anything is decoded
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(path, formats=FORMATS) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise InputError(f"The picture {path.name} has more than {MAX_PIXELS // 1_000_000} megapixels.")
            if min(width, height) < MIN_EDGE:
                raise InputError(f"The picture {path.name} is smaller than {MIN_EDGE} pixels.")
            return _rgb(_eight_bits(ImageOps.exif_transpose(image)))
    except InputError:
        raise
    except Exception as error:  # decoders raise many kinds: OSError, SyntaxError, ValueError, struct.error
        raise InputError(f"The file {path.name} cannot be read as a picture in JPEG, PNG or WebP.") from error


def _eight_bits(image: Image.Image) -> Image.Image:
    """Greys of 16 bits as those of 8: Pillow's conversion makes all but the darkest white."""
    if not image.mode.startswith("I"):
        return image
    values = np.asarray(image).astype(np.int64)
    grey = Image.fromarray(np.clip(values >> 8, 0, 255).astype(np.uint8))
    transparent = image.info.get("transparency")
    if transparent is not None:
        grey.putalpha(Image.fromarray(np.where(values == transparent, 0, 255).astype(np.uint8)))
    return grey


def _rgb(image: Image.Image) -> Image.Image:
    """Without transparency, on white."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")
