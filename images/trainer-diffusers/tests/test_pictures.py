"""Pictures of every colour type and depth are read as they look."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import dataset

EDGE = 64


def looks(path: Path) -> tuple[float, ...]:
    """The mean colour, from 0 to 255."""
    pixels = dataset.read(path, EDGE).pixels
    return tuple((pixels.mean(axis=(1, 2)) + 1) * 127.5)


def grey16(value: int) -> Image.Image:
    return Image.fromarray(np.full((EDGE, EDGE), value, dtype=np.uint16))


def palette() -> Image.Image:
    image = Image.new("P", (EDGE, EDGE), 1)
    image.putpalette([255, 0, 0, 10, 20, 30])
    return image


@pytest.mark.parametrize(
    ("image", "options", "colour"),
    [
        (Image.new("1", (EDGE, EDGE), 1), {}, (255, 255, 255)),
        (Image.new("L", (EDGE, EDGE), 100), {}, (100, 100, 100)),
        (Image.new("L", (EDGE, EDGE), 100), {"transparency": 100}, (255, 255, 255)),
        (Image.new("LA", (EDGE, EDGE), (0, 0)), {}, (255, 255, 255)),
        (Image.new("LA", (EDGE, EDGE), (0, 128)), {}, (127, 127, 127)),
        (grey16(0x8000), {}, (128, 128, 128)),
        (grey16(0x01FF), {}, (1, 1, 1)),
        (grey16(0x8000), {"transparency": 0x8000}, (255, 255, 255)),
        (palette(), {}, (10, 20, 30)),
        (palette(), {"transparency": 1}, (255, 255, 255)),
        (palette(), {"transparency": 0}, (10, 20, 30)),
        (Image.new("RGB", (EDGE, EDGE), (1, 2, 3)), {}, (1, 2, 3)),
        (Image.new("RGB", (EDGE, EDGE), (1, 2, 3)), {"transparency": (1, 2, 3)}, (255, 255, 255)),
        (Image.new("RGBA", (EDGE, EDGE), (9, 9, 9, 0)), {}, (255, 255, 255)),
    ],
)
def test_a_png_is_read_as_it_looks(
    tmp_path: Path, image: Image.Image, options: dict[str, object], colour: tuple[int, ...]
) -> None:
    path = tmp_path / "picture.png"
    image.save(path, **options)
    assert looks(path) == pytest.approx(colour, abs=1)


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [("L", 100, (100, 100, 100)), ("RGB", (200, 30, 40), (200, 30, 40)), ("CMYK", (0, 255, 255, 0), (255, 0, 0))],
)
def test_a_jpeg_is_read_as_it_looks(
    tmp_path: Path, mode: str, colour: object, expected: tuple[int, ...]
) -> None:
    path = tmp_path / "picture.jpg"
    Image.new(mode, (EDGE, EDGE), colour).save(path, quality=100)
    assert looks(path) == pytest.approx(expected, abs=3)


def test_a_picture_is_turned_as_it_says(tmp_path: Path) -> None:
    image = Image.new("RGB", (EDGE, EDGE), "black")
    image.paste("white", (0, 0, EDGE, EDGE // 2))
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    path = tmp_path / "picture.jpg"
    image.save(path, exif=exif, quality=100)
    pixels = dataset.read(path, EDGE).pixels
    assert pixels[:, : EDGE // 4].mean() < -0.9 and pixels[:, -EDGE // 4 :].mean() > 0.9
