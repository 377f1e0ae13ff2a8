//! The fit of an adapter to pictures. The painter is frozen; the numbers of the adapter follow the gradient of the sliced
//! Wasserstein distance between patches of the user's pictures and of the painter's: for random directions, the differences
//! of the sorted projections. Deterministic: the state after a step follows from the state before it and the seed.

use anyhow::ensure;

use crate::adapter::{Adapter, FEATURES, from_bytes, to_bytes};
use crate::painter::{Painter, mix, unit};
use crate::picture;

/// Numbers of a patch: the colour of a pixel, and its differences to the pixels to the right and below.
const PATCH: usize = 9;
/// Patches of each side in a step.
const PATCHES: usize = 192;
/// Directions in a step.
const DIRECTIONS: usize = 12;
/// Edge of the painter's pictures.
const EDGE: usize = 96;
/// Steps of the painter's pictures.
const PAINTED: u32 = 20;
/// Pictures of the painter.
const PAINTINGS: u64 = 4;
/// Size of Adam's steps.
const RATE: f32 = 0.02;
const BETA: (f32, f32) = (0.9, 0.99);

type Patch = [f32; PATCH];

/// Rows of RGB, 0 to 1, with edges of at most twice those of the painter's pictures: patches of both show as much.
#[derive(Debug, Clone)]
pub struct Picture {
    width: usize,
    pixels: Vec<[f32; 3]>,
}

impl Picture {
    /// A picture from rows of 8-bit RGB.
    ///
    /// # Errors
    /// If it is smaller than two by two pixels, or the size does not fit.
    pub fn new(width: usize, rgb: &[u8]) -> anyhow::Result<Self> {
        let (pixels, rest) = rgb.as_chunks();
        let pixels: Vec<[f32; 3]> =
            pixels.iter().map(|pixel: &[u8; 3]| pixel.map(|c| f32::from(c) / 255.0)).collect();
        ensure!(
            rest.is_empty() && width >= 2 && pixels.len().is_multiple_of(width),
            "not rows of this width"
        );
        let height = pixels.len() / width;
        let every = (width.max(height) / EDGE).max(1);
        let (small, short) = (width / every, height / every);
        ensure!(small >= 2 && short >= 2, "too small");
        let mean = |at: usize| {
            let (x, y) = (at % small * every, at / small * every);
            let block = (0..every * every).map(|n| pixels[(y + n / every) * width + x + n % every]);
            let sum = block.fold([0.0; 3], |sum: [f32; 3], pixel| std::array::from_fn(|c| sum[c] + pixel[c]));
            sum.map(|c| c / (every * every) as f32)
        };
        Ok(Self { width: small, pixels: (0..small * short).map(mean).collect() })
    }

    /// Reads a PNG.
    ///
    /// # Errors
    /// If it is none, or too small or large.
    pub fn from_png(file: &[u8]) -> anyhow::Result<Self> {
        let (width, _, rgb) = picture::decode(file, picture::WHITE)?;
        Self::new(width, &rgb)
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    fn patch(&self, dice: &mut Dice) -> Patch {
        let (x, y) = (dice.below(self.width - 1), dice.below(self.height() - 1));
        let at = y * self.width + x;
        patch(self.pixels[at], self.pixels[at + 1], self.pixels[at + self.width])
    }
}

fn patch(here: [f32; 3], right: [f32; 3], below: [f32; 3]) -> Patch {
    std::array::from_fn(|n| match n {
        0..3 => here[n],
        3..6 => right[n - 3] - here[n - 3],
        _ => below[n - 6] - here[n - 6],
    })
}

/// Random numbers: splitmix64.
struct Dice(u64);

impl Dice {
    fn of(seed: u64, purpose: u64) -> Self {
        Self(mix(seed ^ mix(purpose)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// About normal: the sum of four uniform numbers.
    fn normal(&mut self) -> f32 {
        ((0..4).map(|_| unit(self.next())).sum::<f32>() - 2.0) * 1.732
    }

    fn direction(&mut self) -> Patch {
        let direction: Patch = std::array::from_fn(|_| self.normal());
        let length = direction.iter().map(|n| n * n).sum::<f32>().sqrt().max(f32::EPSILON);
        direction.map(|n| n / length)
    }
}

/// The painter's pictures, by the features and colours of their pixels.
struct Painting {
    features: Vec<[f32; FEATURES]>,
    colours: Vec<[f32; 3]>,
}

impl Painting {
    fn new(prompt: &str, seed: u64) -> Self {
        let mut painter = Painter::new(prompt, "", seed, 7.0, (EDGE, EDGE), PAINTED);
        (0..PAINTED).for_each(|step| painter.step(step));
        let points = (0..EDGE * EDGE).map(|at| (at % EDGE, at / EDGE));
        let (colours, features) = points.map(|(x, y)| painter.pixel(x, y)).unzip();
        Self { features, colours }
    }
}

/// A fit.
pub struct Fit {
    seed: u64,
    rank: usize,
    pictures: Vec<Picture>,
    paintings: Vec<Painting>,
    /// Number of completed steps.
    step: u32,
    numbers: Vec<f32>,
    /// Adam's averages of gradients and of their squares.
    averages: (Vec<f32>, Vec<f32>),
}

impl Fit {
    /// A fit that has not begun: its adapter changes nothing.
    ///
    /// # Errors
    /// If there are no pictures, or the rank is 0.
    pub fn new(prompt: &str, pictures: Vec<Picture>, rank: usize, seed: u64) -> anyhow::Result<Self> {
        ensure!(!pictures.is_empty() && rank > 0, "no pictures, or no rank");
        let size = Adapter::size(rank);
        let mut dice = Dice::of(seed, 1);
        let down = rank * FEATURES;
        let numbers = (0..size).map(|n| if n < down { dice.normal() * 0.3 } else { 0.0 }).collect();
        let paintings = (0..PAINTINGS).map(|n| Painting::new(prompt, mix(seed ^ n) >> 33)).collect();
        let averages = (vec![0.0; size], vec![0.0; size]);
        Ok(Self { seed, rank, pictures, paintings, step: 0, numbers, averages })
    }

    /// Number of completed steps.
    #[must_use]
    pub fn step(&self) -> u32 {
        self.step
    }

    /// The adapter as it is now.
    ///
    /// # Errors
    /// If the fit has diverged.
    pub fn adapter(&self) -> anyhow::Result<Adapter> {
        Adapter::new(self.rank, self.numbers.clone())
    }

    /// The state, from which [`Self::resume`] continues.
    #[must_use]
    pub fn checkpoint(&self) -> Vec<u8> {
        let mut bytes = self.step.to_le_bytes().to_vec();
        for part in [&self.numbers, &self.averages.0, &self.averages.1] {
            bytes.extend(to_bytes(part));
        }
        bytes
    }

    /// Goes on from a checkpoint of a fit with the same inputs.
    ///
    /// # Errors
    /// If it has another size.
    pub fn resume(&mut self, checkpoint: &[u8]) -> anyhow::Result<()> {
        let size = self.numbers.len();
        ensure!(checkpoint.len() == 4 + 12 * size, "a checkpoint of another fit");
        let (step, numbers) = checkpoint.split_at(4);
        let mut numbers = from_bytes(numbers)?;
        let second = numbers.split_off(2 * size);
        let first = numbers.split_off(size);
        self.step = step.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        (self.numbers, self.averages) = (numbers, (first, second));
        Ok(())
    }

    /// Does one step. Returns the loss before it.
    pub fn advance(&mut self) -> f32 {
        let mut dice = Dice::of(self.seed, 1_000 + u64::from(self.step));
        let wanted: Vec<Patch> = (0..PATCHES)
            .map(|_| {
                let picture = dice.below(self.pictures.len());
                self.pictures[picture].patch(&mut dice)
            })
            .collect();
        let places: Vec<[(usize, usize); 3]> = (0..PATCHES).map(|_| self.place(&mut dice)).collect();
        let drawn: Vec<Patch> = places.iter().map(|place| self.draw(place)).collect();
        let (loss, slopes) = compare(&drawn, &wanted, &mut dice);
        let mut gradient = vec![0.0; self.numbers.len()];
        for (place, slope) in places.iter().zip(&slopes) {
            // a difference falls where its first pixel rises
            let here = std::array::from_fn(|n| slope[n] - slope[n + 3] - slope[n + 6]);
            let right = std::array::from_fn(|n| slope[n + 3]);
            let below = std::array::from_fn(|n| slope[n + 6]);
            for (at, slope) in place.iter().zip([here, right, below]) {
                self.descend(&self.paintings[at.0].features[at.1], &slope, &mut gradient);
            }
        }
        self.update(&gradient);
        loss
    }

    /// A pixel of a painting, and the pixels to the right and below.
    fn place(&self, dice: &mut Dice) -> [(usize, usize); 3] {
        let painting = dice.below(self.paintings.len());
        let at = dice.below(EDGE - 1) + dice.below(EDGE - 1) * EDGE;
        [(painting, at), (painting, at + 1), (painting, at + EDGE)]
    }

    fn draw(&self, place: &[(usize, usize); 3]) -> Patch {
        let [here, right, below] = place.map(|(painting, at)| {
            let Painting { features, colours } = &self.paintings[painting];
            let (_, change) = self.forward(&features[at]);
            std::array::from_fn(|n| colours[at][n] + change[n])
        });
        patch(here, right, below)
    }

    /// The hidden numbers of a pixel, and the change of its colour.
    fn forward(&self, features: &[f32; FEATURES]) -> (Vec<f32>, [f32; 3]) {
        let (down, up) = self.numbers.split_at(self.rank * FEATURES);
        let hidden = down.chunks_exact(FEATURES).map(|row| {
            row.iter().zip(features).map(|(weight, feature)| weight * feature).sum::<f32>().max(0.0)
        });
        let hidden: Vec<f32> = hidden.collect();
        let change = std::array::from_fn(|channel| {
            hidden.iter().zip(&up[channel * self.rank..]).map(|(hidden, weight)| hidden * weight).sum()
        });
        (hidden, change)
    }

    /// Adds the gradient of a pixel whose colour has this slope.
    fn descend(&self, features: &[f32; FEATURES], slope: &[f32; 3], gradient: &mut [f32]) {
        let (hidden, _) = self.forward(features);
        let split = self.rank * FEATURES;
        for (n, hidden) in hidden.into_iter().enumerate().filter(|(_, hidden)| *hidden > 0.0) {
            let mut back = 0.0;
            for (channel, slope) in slope.iter().enumerate() {
                let at = split + channel * self.rank + n;
                gradient[at] += slope * hidden;
                back += slope * self.numbers[at];
            }
            for (feature, gradient) in features.iter().zip(&mut gradient[n * FEATURES..]) {
                *gradient += back * feature;
            }
        }
    }

    /// A step of Adam.
    fn update(&mut self, gradient: &[f32]) {
        self.step += 1;
        let unbias = |beta: f32| 1.0 - (0..self.step).fold(1.0, |power, _| power * beta);
        let (first, second) = (unbias(BETA.0), unbias(BETA.1));
        let averages = self.averages.0.iter_mut().zip(&mut self.averages.1);
        for ((number, (mean, square)), slope) in self.numbers.iter_mut().zip(averages).zip(gradient) {
            *mean = BETA.0 * *mean + (1.0 - BETA.0) * slope;
            *square = BETA.1 * *square + (1.0 - BETA.1) * slope * slope;
            *number -= RATE * (*mean / first) / ((*square / second).sqrt() + 1e-8);
        }
    }
}

/// The sliced Wasserstein distance between equally many patches, squared, and its slope by each of the first.
fn compare(drawn: &[Patch], wanted: &[Patch], dice: &mut Dice) -> (f32, Vec<Patch>) {
    let mut slopes = vec![[0.0; PATCH]; drawn.len()];
    let scale = 1.0 / (drawn.len() * DIRECTIONS) as f32;
    let mut loss = 0.0;
    for _ in 0..DIRECTIONS {
        let direction = dice.direction();
        let project = |patches: &[Patch]| {
            let dot = |patch: &Patch| patch.iter().zip(&direction).map(|(a, b)| a * b).sum::<f32>();
            let mut sorted: Vec<(f32, usize)> =
                patches.iter().enumerate().map(|(n, patch)| (dot(patch), n)).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            sorted
        };
        for ((have, n), (want, _)) in project(drawn).into_iter().zip(project(wanted)) {
            let difference = have - want;
            loss += difference * difference * scale;
            for (slope, part) in slopes[n].iter_mut().zip(&direction) {
                *slope += 2.0 * difference * scale * part;
            }
        }
    }
    (loss, slopes)
}

/// How far a picture is from others: the distance that a fit minimizes, between 4,096 patches of each.
#[must_use]
pub fn distance(picture: &Picture, others: &[Picture]) -> f32 {
    const MANY: usize = 4_096;
    let mut dice = Dice::of(0, 7);
    let have: Vec<Patch> = (0..MANY).map(|_| picture.patch(&mut dice)).collect();
    let want: Vec<Patch> = (0..MANY).map(|n| others[n % others.len()].patch(&mut dice)).collect();
    compare(&have, &want, &mut dice).0.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stripes in two colours.
    fn stripes(colours: [[u8; 3]; 2], width: usize) -> Picture {
        let rgb: Vec<u8> = (0..48 * 48).flat_map(|at| colours[(at % 48 / width) % 2]).collect();
        Picture::new(48, &rgb).unwrap()
    }

    fn red() -> Vec<Picture> {
        vec![stripes([[220, 30, 20], [120, 10, 10]], 6), stripes([[230, 40, 30], [110, 20, 10]], 8)]
    }

    fn green() -> Vec<Picture> {
        vec![stripes([[20, 200, 60], [10, 90, 40]], 6)]
    }

    fn fitted(pictures: Vec<Picture>, steps: u32) -> (Adapter, Vec<f32>) {
        let mut fit = Fit::new("a dog", pictures, 8, 7).unwrap();
        let losses = (0..steps).map(|_| fit.advance()).collect();
        (fit.adapter().unwrap(), losses)
    }

    fn advance(fit: &mut Fit, steps: u32) {
        for _ in 0..steps {
            fit.advance();
        }
    }

    fn painted(adapter: Option<(Adapter, f32)>) -> Picture {
        let mut painter = Painter::new("sks dog on the moon", "", 12_345, 7.0, (EDGE, EDGE), PAINTED);
        (0..PAINTED).for_each(|step| painter.step(step));
        if let Some((adapter, weight)) = adapter {
            painter.adapt(std::sync::Arc::new(adapter), weight);
        }
        let (width, _, rgb) = painter.render(1, 0.0);
        Picture::new(width, &rgb).unwrap()
    }

    #[test]
    fn the_loss_falls() {
        let (_, losses) = fitted(red(), 300);
        let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
        let (first, last) = (mean(&losses[..10]), mean(&losses[290..]));
        assert!(last < first / 5.0, "from {first} to {last}");
    }

    #[test]
    fn pictures_are_nearer_to_these_than_without_and_than_with_others() {
        let (own, other) = (fitted(red(), 300).0, fitted(green(), 300).0);
        let without = distance(&painted(None), &red());
        let with = distance(&painted(Some((own, 1.0))), &red());
        let foreign = distance(&painted(Some((other, 1.0))), &red());
        assert!(with < without / 2.0, "with {with}, without {without}");
        assert!(with < foreign / 2.0, "with {with}, with another's {foreign}");
    }

    #[test]
    fn weight_0_changes_nothing() {
        let own = fitted(red(), 20).0;
        assert_eq!(painted(Some((own.clone(), 0.0))).pixels, painted(None).pixels);
        assert_ne!(painted(Some((own, 0.5))).pixels, painted(None).pixels);
    }

    #[test]
    fn a_resumed_fit_ends_as_one_that_was_not_interrupted() {
        let (whole, _) = fitted(red(), 60);
        let mut first = Fit::new("a dog", red(), 8, 7).unwrap();
        advance(&mut first, 37);
        let mut second = Fit::new("a dog", red(), 8, 7).unwrap();
        second.resume(&first.checkpoint()).unwrap();
        assert_eq!(second.step(), 37);
        advance(&mut second, 23);
        assert_eq!(second.adapter().unwrap(), whole);
        assert!(second.resume(&first.checkpoint()[1..]).is_err());
        let mut other = Fit::new("a dog", red(), 8, 8).unwrap();
        advance(&mut other, 60);
        assert_ne!(other.adapter().unwrap(), whole, "another seed");
    }
}
