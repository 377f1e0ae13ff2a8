//! Pictures from text: a height field that gains one layer of finer noise per step, lit and coloured by a palette that
//! depends on the prompt. Pure: the same prompt, seed, size and steps always produce the same bytes.

use std::sync::Arc;

use crate::adapter::{Adapter, FEATURES};

/// A picture that is being computed.
pub struct Painter {
    width: usize,
    height: usize,
    steps: u32,
    seed: u64,
    scene: Scene,
    palette: Palette,
    contrast: f32,
    warp: Vec<(f32, f32)>,
    field: Vec<f32>,
    weight: f32,
    /// The height of each hill's ridge at each column, nearest last; empty for silk.
    ridges: Vec<[f32; HILLS]>,
    /// Adapters with their weights.
    adapters: Vec<(Arc<Adapter>, f32)>,
}

/// The way a height field is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Scene {
    /// Folded cloth and smoke.
    Silk,
    /// A sun over layers of hills.
    Hills,
}

/// Three cosines: `a + b·cos(2π(c·t + d))` per channel.
#[derive(Clone, Copy)]
struct Palette {
    a: [f32; 3],
    b: [f32; 3],
    c: [f32; 3],
    d: [f32; 3],
}

/// Words with a palette of their own; other prompts choose one by hash.
const PALETTES: [(&[&str], Palette); 8] = [
    (
        &["sunset", "sunrise", "autumn", "gold", "desert"],
        pal([0.62, 0.42, 0.36], [0.38, 0.36, 0.30], [0.8, 0.7, 0.6], [0.02, 0.12, 0.28]),
    ),
    (
        &["ocean", "sea", "water", "blue", "river", "lake"],
        pal([0.28, 0.48, 0.58], [0.26, 0.36, 0.38], [0.7, 0.8, 0.7], [0.55, 0.50, 0.42]),
    ),
    (
        &["forest", "green", "tree", "jungle", "garden", "grass"],
        pal([0.36, 0.48, 0.30], [0.30, 0.36, 0.24], [0.8, 0.7, 0.9], [0.30, 0.18, 0.42]),
    ),
    (
        &["night", "space", "galaxy", "star", "nebula", "neon", "cyberpunk"],
        pal([0.34, 0.22, 0.46], [0.36, 0.26, 0.42], [1.0, 0.9, 0.8], [0.72, 0.56, 0.30]),
    ),
    (
        &["fire", "lava", "dragon", "red", "phoenix"],
        pal([0.56, 0.28, 0.18], [0.44, 0.32, 0.20], [0.9, 0.8, 0.7], [0.02, 0.16, 0.24]),
    ),
    (
        &["snow", "ice", "winter", "white", "crystal"],
        pal([0.68, 0.76, 0.84], [0.26, 0.22, 0.16], [0.8, 0.8, 0.8], [0.48, 0.46, 0.44]),
    ),
    (
        &["flower", "pink", "rose", "girl", "portrait", "candy"],
        pal([0.70, 0.48, 0.58], [0.28, 0.34, 0.32], [0.7, 0.8, 0.9], [0.92, 0.12, 0.04]),
    ),
    (
        &["rainbow", "psychedelic", "colorful", "abstract"],
        pal([0.52, 0.50, 0.52], [0.44, 0.44, 0.44], [1.0, 1.0, 1.0], [0.00, 0.33, 0.67]),
    ),
];

/// Words that select a landscape.
const VIEWS: [&str; 12] = [
    "landscape",
    "mountain",
    "mountains",
    "hill",
    "hills",
    "valley",
    "sunset",
    "sunrise",
    "desert",
    "horizon",
    "view",
    "scenery",
];

const fn pal(a: [f32; 3], b: [f32; 3], c: [f32; 3], d: [f32; 3]) -> Palette {
    Palette { a, b, c, d }
}

/// Layers of hills in a landscape.
const HILLS: usize = 5;

/// Octaves between the coarsest and the finest layer.
const OCTAVES: f32 = 6.5;

impl Painter {
    /// `width` and `height` in pixels, `steps` ≥ 1.
    pub fn new(
        words: &str,
        unwanted: &str,
        seed: u64,
        cfg_scale: f32,
        (width, height): (usize, usize),
        steps: u32,
    ) -> Self {
        let lower = words.to_lowercase();
        let has = |word: &&str| lower.split(|c: char| !c.is_alphanumeric()).any(|w| w == *word);
        let hash = mix(text_hash(words) ^ mix(text_hash(unwanted)));
        let mut palette = PALETTES
            .iter()
            .find(|(names, _)| names.iter().any(has))
            .map_or(PALETTES[(hash % PALETTES.len() as u64) as usize].1, |p| p.1);
        // the prompt chooses the palette; the seed shifts it a little
        let lean = unit(mix(seed ^ 0x51ed)) * 0.12 - 0.06;
        for d in &mut palette.d {
            *d += lean;
        }
        let view = VIEWS.iter().any(has) || hash >> 60 < 5;
        let mut painter = Self {
            width,
            height,
            steps,
            seed: mix(seed ^ hash),
            scene: if view { Scene::Hills } else { Scene::Silk },
            palette,
            contrast: 0.7 + (cfg_scale.clamp(1.0, 20.0) / 20.0) * 0.9,
            warp: Vec::with_capacity(width * height),
            field: vec![0.0; width * height],
            weight: 0.0,
            ridges: Vec::new(),
            adapters: Vec::new(),
        };
        painter.bend();
        if view {
            painter.raise();
        }
        painter
    }

    /// Warped coordinates for all layers: they turn blobs into folds.
    fn bend(&mut self) {
        let scale = 1.0 / self.width.min(self.height) as f32;
        let (sx, sy) = (self.seed ^ 0xa1, self.seed ^ 0xb2);
        let strength = 0.55 + unit(mix(self.seed ^ 0xc3)) * 0.6;
        for y in 0..self.height {
            for x in 0..self.width {
                let (u, v) = (x as f32 * scale, y as f32 * scale);
                let wx = noise(u * 2.1, v * 2.1, sx) + 0.5 * noise(u * 4.7, v * 4.7, sx ^ 7);
                let wy = noise(u * 2.1, v * 2.1, sy) + 0.5 * noise(u * 4.7, v * 4.7, sy ^ 7);
                self.warp.push((u + strength * (wx - 0.75), v + strength * (wy - 0.75)));
            }
        }
    }

    /// The outlines of the hills, which only depend on the column.
    fn raise(&mut self) {
        for x in 0..self.width {
            let u = x as f32 / self.width as f32;
            self.ridges.push(std::array::from_fn(|layer| {
                let depth = layer as f32 / HILLS as f32;
                let seed = mix(self.seed ^ (0x90 + layer as u64));
                let f = 2.0 + 1.5 * depth;
                0.46 + 0.11 * layer as f32
                    - 0.20 * noise(u * f, depth * 9.0, seed)
                    - 0.06 * noise(u * f * 4.3, depth * 9.0, seed ^ 3)
                    - 0.015 * noise(u * f * 19.0, depth * 9.0, seed ^ 5)
            }));
        }
    }

    /// Adds the layer of step `index` (0-based).
    pub fn step(&mut self, index: u32) {
        let octave = OCTAVES * index as f32 / self.steps as f32;
        let frequency = 1.6 * octave.exp2();
        let amplitude = (-octave * 0.82).exp2();
        let seed = mix(self.seed ^ (u64::from(index) + 1));
        for (value, (u, v)) in self.field.iter_mut().zip(&self.warp) {
            *value += amplitude * noise(u * frequency, v * frequency, seed);
        }
        self.weight += amplitude;
    }

    /// The current picture as RGB rows. `every` > 1 skips pixels (for a preview); `grain` (0 to 1) is the amount of
    /// remaining noise. Returns width, height, bytes.
    pub fn render(&self, every: usize, grain: f32) -> (usize, usize, Vec<u8>) {
        let (w, h) = (self.width.div_ceil(every), self.height.div_ceil(every));
        let mut rgb = Vec::with_capacity(w * h * 3);
        for y in (0..self.height).step_by(every) {
            for x in (0..self.width).step_by(every) {
                let colour = self.adapted(x, y);
                let dust = if grain > 0.0 {
                    unit(mix(self.seed ^ ((y * self.width + x) as u64))) - 0.5
                } else {
                    0.0
                };
                for channel in colour {
                    let c = channel * (1.0 - 0.6 * grain) + 0.3 * grain + dust * grain;
                    rgb.push((c.clamp(0.0, 1.0) * 255.0) as u8);
                }
            }
        }
        (w, h, rgb)
    }

    /// Has an adapter change the colours. The weight 0 changes nothing.
    pub fn adapt(&mut self, adapter: Arc<Adapter>, weight: f32) {
        if weight != 0.0 {
            self.adapters.push((adapter, weight));
        }
    }

    /// The colour of a pixel without adapters, and its features: colour, height, slopes, phases of the height, and place.
    pub(crate) fn pixel(&self, x: usize, y: usize) -> ([f32; 3], [f32; FEATURES]) {
        let colour = self.frozen(x, y);
        let height = self.at(x, y);
        let size = self.width.min(self.height) as f32;
        let slopes =
            [self.at(x + 1, y) - height, self.at(x, y + 1) - height].map(|slope| slope * size * 0.05);
        let phase = |octave: f32| (std::f32::consts::TAU * octave * height).sin_cos();
        let ((s1, c1), (s2, c2), (s4, c4)) = (phase(1.0), phase(2.0), phase(4.0));
        let (u, v) = (x as f32 / self.width as f32 - 0.5, y as f32 / self.height as f32 - 0.5);
        let [r, g, b] = colour;
        let [dx, dy] = slopes;
        (colour, [1.0, r, g, b, height, dx, dy, dx.abs() + dy.abs(), s1, c1, s2, c2, s4, c4, u, v])
    }

    fn frozen(&self, x: usize, y: usize) -> [f32; 3] {
        match self.scene {
            Scene::Silk => self.silk(x, y),
            Scene::Hills => self.hills(x, y),
        }
    }

    fn adapted(&self, x: usize, y: usize) -> [f32; 3] {
        if self.adapters.is_empty() {
            return self.frozen(x, y);
        }
        let (mut colour, features) = self.pixel(x, y);
        for (adapter, weight) in &self.adapters {
            for (channel, change) in colour.iter_mut().zip(adapter.residual(&features)) {
                *channel += weight * change;
            }
        }
        colour
    }

    fn at(&self, x: usize, y: usize) -> f32 {
        let index = y.min(self.height - 1) * self.width + x.min(self.width - 1);
        let value = self.field[index] / self.weight.max(f32::EPSILON);
        0.5 + (value - 0.5) * 1.6 * self.contrast
    }

    fn silk(&self, x: usize, y: usize) -> [f32; 3] {
        let height = self.at(x, y);
        let size = self.width.min(self.height) as f32;
        let slope_x = (self.at(x + 1, y) - height) * size * 0.05;
        let slope_y = (self.at(x, y + 1) - height) * size * 0.05;
        let light = (0.72 + 0.5 * (slope_x - slope_y)).clamp(0.25, 1.35);
        let shine = (slope_x - slope_y - 0.45).clamp(0.0, 1.0);
        let (dx, dy) = (x as f32 / self.width as f32 - 0.5, y as f32 / self.height as f32 - 0.5);
        let vignette = 1.06 - 0.9 * (dx * dx + dy * dy);
        self.colour(height * 1.7).map(|c| (c * light + shine * 0.5) * vignette)
    }

    fn hills(&self, x: usize, y: usize) -> [f32; 3] {
        let (u, v) = (x as f32 / self.width as f32, y as f32 / self.height as f32);
        let texture = self.at(x, y) - 0.5;
        let sun_u = 0.2 + 0.6 * unit(mix(self.seed ^ 0x5e));
        let sun_v = 0.22 + 0.2 * unit(mix(self.seed ^ 0x5f));
        let aspect = self.width as f32 / self.height as f32;
        let far = (((u - sun_u) * aspect).powi(2) + (v - sun_v).powi(2)).sqrt();
        let glow = (0.05 / (far + 0.04)).min(1.0);
        let mut colour =
            self.colour(0.15 + 0.45 * v + 0.35 * texture).map(|c| c * (0.65 + 0.35 * v) + 0.55 * glow);
        if far < 0.075 {
            colour = colour.map(|c| 0.25 * c + 0.75);
        }
        for layer in 0..HILLS {
            let depth = layer as f32 / HILLS as f32;
            let ridge = self.ridges[x][layer];
            if v > ridge {
                let shade = 0.92 - 0.16 * layer as f32;
                let haze = (0.35 - 0.09 * layer as f32).max(0.0);
                let rim = (1.0 - (v - ridge) * 60.0).clamp(0.0, 1.0) * 0.10 * (1.0 - depth);
                colour = self
                    .colour(0.55 + 0.16 * layer as f32 + 0.4 * texture)
                    .map(|c| c * shade * (0.62 + 0.55 * texture) + haze * 0.6 + rim);
            }
        }
        colour
    }

    fn colour(&self, t: f32) -> [f32; 3] {
        let p = &self.palette;
        std::array::from_fn(|i| p.a[i] + p.b[i] * (std::f32::consts::TAU * (p.c[i] * t + p.d[i])).cos())
    }
}

/// Value noise, 0 to 1, smooth, with integer lattice.
fn noise(x: f32, y: f32, seed: u64) -> f32 {
    let (fx, fy) = (x.floor(), y.floor());
    let (tx, ty) = (x - fx, y - fy);
    let (sx, sy) = (tx * tx * (3.0 - 2.0 * tx), ty * ty * (3.0 - 2.0 * ty));
    let (ix, iy) = (fx as i32, fy as i32);
    let s = seed as u32 ^ (seed >> 32) as u32;
    let (a, b) = (lattice(ix, iy, s), lattice(ix + 1, iy, s));
    let (c, d) = (lattice(ix, iy + 1, s), lattice(ix + 1, iy + 1, s));
    let top = a + (b - a) * sx;
    let bottom = c + (d - c) * sx;
    top + (bottom - top) * sy
}

fn lattice(x: i32, y: i32, seed: u32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x9e37_79b1) ^ (y as u32).wrapping_mul(0x85eb_ca77) ^ seed;
    h ^= h >> 15;
    h = h.wrapping_mul(0x2c1b_3c6d);
    h ^= h >> 12;
    h = h.wrapping_mul(0x297a_2d39);
    h ^= h >> 15;
    (h >> 8) as f32 / 16_777_216.0
}

/// FNV-1a. Unlike the standard hasher, it is stable between builds.
fn text_hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finalizer of splitmix64.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn unit(hash: u64) -> f32 {
    (hash >> 40) as f32 / 16_777_216.0
}
