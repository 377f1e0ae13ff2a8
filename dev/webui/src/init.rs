//! The input of img2img: a picture, and a mask that marks where it is repainted.

use anyhow::ensure;

use painter::picture;

/// The background behind the transparent parts of a mask: they are kept.
const KEPT: u8 = 0;

/// A picture of the size of the result, with which each painted one is mixed.
#[derive(Debug)]
pub(crate) struct Init {
    width: usize,
    rgb: Vec<u8>,
    /// How much of each pixel is painted: the strength, where the mask is white.
    amounts: Vec<f32>,
    pub(crate) strength: f32,
}

impl Init {
    /// Reads PNG and JPEG files, and stretches them to the size.
    ///
    /// # Errors
    /// If one is not a picture.
    pub(crate) fn read(
        image: &[u8],
        mask: Option<&[u8]>,
        strength: f32,
        (width, height): (usize, usize),
    ) -> anyhow::Result<Self> {
        let stretched = |file: &[u8], background| -> anyhow::Result<Vec<u8>> {
            let (from_width, from_height, rgb) = picture::decode(file, background)?;
            ensure!(!rgb.is_empty(), "no pixels");
            Ok(stretch((from_width, from_height, &rgb), (width, height)))
        };
        let amounts = match mask {
            Some(mask) => {
                let rgb = stretched(mask, KEPT)?;
                let (pixels, _) = rgb.as_chunks::<3>();
                pixels.iter().map(|pixel| strength * luminance(*pixel)).collect()
            }
            None => vec![strength; width * height],
        };
        Ok(Self { width, rgb: stretched(image, picture::WHITE)?, amounts, strength })
    }

    /// Number of the requested steps that are computed, as in the real WebUI.
    pub(crate) fn steps(&self, requested: u32) -> u32 {
        (requested as f32 * self.strength.min(0.999)) as u32 + 1
    }

    /// Mixes a painted picture with this one. `every` is its stride in pixels and rows: above 1 in a preview.
    pub(crate) fn mix(&self, painted: &mut [u8], every: usize) {
        let (pixels, _) = painted.as_chunks_mut::<3>();
        let columns = self.width.div_ceil(every);
        for (n, pixel) in pixels.iter_mut().enumerate() {
            let at = n / columns * every * self.width + n % columns * every;
            for (channel, own) in pixel.iter_mut().zip(&self.rgb[at * 3..]) {
                let (own, new) = (f32::from(*own), f32::from(*channel));
                *channel = (own + (new - own) * self.amounts[at]).round() as u8;
            }
        }
    }
}

/// From 0, black, to 1, white.
fn luminance([red, green, blue]: [u8; 3]) -> f32 {
    (f32::from(red) * 0.299 + f32::from(green) * 0.587 + f32::from(blue) * 0.114) / 255.0
}

/// Interpolates between the four nearest pixels. The same size gives the same bytes.
fn stretch(
    (from_width, from_height, rgb): (usize, usize, &[u8]),
    (width, height): (usize, usize),
) -> Vec<u8> {
    let (columns, rows) = (places(from_width, width), places(from_height, height));
    let mut stretched = Vec::with_capacity(width * height * 3);
    for (top, bottom, down) in &rows {
        for (left, right, along) in &columns {
            for channel in 0..3 {
                let at = |x: usize, y: usize| f32::from(rgb[(y * from_width + x) * 3 + channel]);
                let above = at(*left, *top) * (1.0 - along) + at(*right, *top) * along;
                let below = at(*left, *bottom) * (1.0 - along) + at(*right, *bottom) * along;
                stretched.push((above * (1.0 - down) + below * down).round() as u8);
            }
        }
    }
    stretched
}

/// For each place of an edge of `to` pixels: the two nearest of `from`, and how much the second one counts.
fn places(from: usize, to: usize) -> Vec<(usize, usize, f32)> {
    let place = |n: usize| {
        let at = ((n as f32 + 0.5) * from as f32 / to as f32 - 0.5).clamp(0.0, (from - 1) as f32);
        let first = at as usize;
        (first, (first + 1).min(from - 1), at.fract())
    };
    (0..to).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_kept_and_the_same_size_changes_nothing() {
        let row = [0, 0, 0, 100, 100, 100, 200, 200, 200];
        assert_eq!(stretch((3, 1, &row), (3, 1)), row);
        let wider = stretch((3, 1, &row), (6, 2));
        assert_eq!(wider[..18].iter().step_by(3).copied().collect::<Vec<_>>(), [0, 25, 75, 125, 175, 200]);
        assert_eq!(wider[..18], wider[18..]);
    }

    #[test]
    fn the_mask_and_the_strength_say_how_much_is_painted() {
        let amounts = vec![0.0, 0.5, 1.0, 0.25, 0.75, 0.0];
        let init = Init { width: 2, rgb: vec![100; 18], amounts, strength: 1.0 };
        let mixed = |count: usize, every: usize| {
            let mut painted = vec![200; count * 3];
            init.mix(&mut painted, every);
            painted.into_iter().step_by(3).collect::<Vec<u8>>()
        };
        assert_eq!(mixed(6, 1), [100, 150, 200, 125, 175, 100]);
        assert_eq!(mixed(2, 2), [100, 175], "the first pixels of the first and the third row");
        assert_eq!([init.steps(20), Init { strength: 0.0, ..init }.steps(20)], [20, 1]);
    }
}
