/** Pictures as jobs make them: flat landscapes and things, drawn from the prompt and the seed. */

type Colour = [number, number, number];

interface Scene {
  colours: Colour[];
  /** The place of the colour at a point; both go from 0 to 1. */
  at: (x: number, y: number) => number;
}

const hex = (text: string): Colour =>
  [0, 2, 4].map((i) => Number.parseInt(text.slice(i, i + 2), 16)) as Colour;
const colours = (text: string) => text.split(" ").map(hex);

/** Numbers from 0 to 1 that follow from the seed alone. */
function chance(seed: number) {
  let state = (seed >>> 0) + 0x9e3779b9;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state ^= state >>> 16;
    return (state >>> 0) / 2 ** 32;
  };
}

type Next = () => number;

/** A ridge: the height of the land at x. */
function ridge(next: Next, height: number, rough: number) {
  const waves = [1.3, 2.9, 6.1, 13].map((f) => ({ f: f * (0.7 + next() * 0.6), p: next() * 7 }));
  return (x: number) =>
    height + waves.reduce((sum, { f, p }, i) => sum + (Math.sin(x * f * 3 + p) * rough) / 2 ** i, 0);
}

const disc = (x: number, y: number, cx: number, cy: number, r: number, aspect = 1) =>
  ((x - cx) * aspect) ** 2 + (y - cy) ** 2 < r * r;

function harbour(next: Next, aspect: number): Scene {
  const sun = { x: 0.45 + next() * 0.35, y: 0.36 + next() * 0.08, r: 0.1 + next() * 0.03 };
  const sea = 0.53 + next() * 0.06;
  const boats = Array.from({ length: 2 + Math.floor(next() * 2) }, () => ({
    x: 0.08 + next() * 0.84,
    y: sea + 0.05 + next() * 0.12,
    s: 0.05 + next() * 0.04,
  }));
  const sky = [0.14, 0.3, 0.44].map((it) => ridge(next, it, 0.012));
  return {
    colours: colours(
      next() > 0.4
        ? "c9b79a d8bb90 e3b884 eab27c ef9f5c 4a6572 3f5763 ef9f5c 2a343b efe2cc"
        : "8d93a8 a59aa8 c2a2a0 d9ab97 f2c79a 4d5f78 3e4f66 f2c79a 20283a f1e4d2",
    ),
    at: (x, y) => {
      for (const it of boats) {
        const dx = (x - it.x) * aspect;
        const dy = y - it.y;
        if (dy > 0 && dy < it.s * 0.25 && Math.abs(dx) < it.s * 0.7 - dy) return 8;
        if (dy < 0 && dy > -it.s * 1.6 && dx > 0 && dx < (dy + it.s * 1.6) * 0.4) return 9;
      }
      if (y < sea) {
        if (disc(x, y, sun.x, sun.y, sun.r, aspect)) return 4;
        const band = sky.findIndex((it) => y < it(x));
        return band < 0 ? 3 : band;
      }
      const below = y - sea;
      const width = sun.r * (1 - below * 1.3);
      if (Math.abs(x - sun.x) * aspect < width && Math.floor(below * 60) % 3 === 0) return 7;
      return Math.sin(x * 30 + Math.floor(y * 46) * 9) > 0.82 ? 6 : 5;
    },
  };
}

function hills(next: Next, aspect: number): Scene {
  const lands = [0.42, 0.53, 0.66, 0.8].map((it) => ridge(next, it, 0.05));
  const sun = { x: 0.2 + next() * 0.6, y: 0.14 + next() * 0.14, r: 0.06 + next() * 0.03 };
  const tones = [
    "d8cfae cbb490 f1e2b4 a8b48c 8aa274 6d8b5e 4c6b46",
    "e9cfae dcae84 f6e3bd cf8f62 b56b48 914a36 5c2c28",
    "c3cfd6 aebdc6 eef1f0 93a6b1 748b98 56707e 354c59",
    "d8c4cd c3a3b4 f4e0df a37f9a 7f5f83 5c4369 37284a",
  ];
  return {
    colours: colours(tones[Math.floor(next() * tones.length)] ?? ""),
    at: (x, y) => {
      const land = lands.findLastIndex((it) => y > it(x));
      if (land >= 0) return 3 + land;
      if (disc(x, y, sun.x, sun.y, sun.r, aspect)) return 2;
      return y > 0.3 + Math.sin(x * 5) * 0.02 ? 1 : 0;
    },
  };
}

function city(next: Next): Scene {
  const row = (n: number, low: number, high: number) =>
    Array.from({ length: n }, (_, i) => ({
      from: (i + next() * 0.4 - 0.2) / n,
      to: (i + 0.75 + next() * 0.4) / n,
      top: low + next() * (high - low),
    }));
  const far = row(12, 0.25, 0.5);
  const near = row(9, 0.48, 0.72);
  const lamp = chance(Math.floor(next() * 1e9));
  const lamps = Array.from({ length: 4000 }, lamp);
  const inside = (it: { from: number; to: number; top: number }, x: number, y: number) =>
    x > it.from && x < it.to && y > it.top;
  return {
    colours: colours(
      next() > 0.5 ? "8d8089 776f7c 5f5968 474655 e6b765" : "5b6478 4a5267 384056 252b3d f0c674",
    ),
    at: (x, y) => {
      if (near.some((it) => inside(it, x, y))) {
        const [i, j] = [Math.floor(x * 70), Math.floor(y * 42)];
        const isWindow = (x * 70) % 1 > 0.35 && (y * 42) % 1 > 0.4;
        return isWindow && (lamps[(i * 57 + j * 13) % 4000] ?? 1) < 0.16 ? 4 : 3;
      }
      if (far.some((it) => inside(it, x, y))) return 2;
      return y > 0.34 ? 1 : 0;
    },
  };
}

function forest(next: Next): Scene {
  const trunks = Array.from({ length: 16 }, (_, i) => ({
    x: next(),
    w: 0.012 + next() * 0.03,
    lean: (next() - 0.5) * 0.06,
    depth: i < 7 ? 1 : i < 12 ? 2 : 3,
  }));
  const light = 0.35 + next() * 0.3;
  const ground = ridge(next, 0.86, 0.02);
  return {
    colours: colours("b9c2a0 6d8377 4a6159 263a37 e2dcae 33453a"),
    at: (x, y) => {
      if (y > ground(x)) return 5;
      for (let depth = 3; depth > 0; depth--)
        if (trunks.some((it) => it.depth === depth && Math.abs(x - it.x - it.lean * y) < it.w)) return depth;
      return Math.abs(x - light) < 0.1 + y * 0.06 ? 4 : 0;
    },
  };
}

function portrait(next: Next, aspect: number): Scene {
  const tones = [
    "5f6e68 4d5b56 3a2b24 d7a981 c28f68 8a3f38 201a18",
    "a89983 8f8069 26323f c99874 b27f5d 35485a 1b1f24",
    "6c6479 585064 a9703c e0b691 cb9871 4f6a5b 2a2226",
  ];
  const long = next() > 0.5;
  const turn = (next() - 0.5) * 0.04;
  return {
    colours: colours(tones[Math.floor(next() * tones.length)] ?? ""),
    at: (x, y) => {
      const cx = 0.5 + turn;
      const dx = (x - cx) * aspect;
      const face = (dx / 0.15) ** 2 + ((y - 0.4) / 0.21) ** 2;
      const hair = (dx / 0.22) ** 2 + ((y - 0.36) / 0.27) ** 2;
      if (face < 1 && y > 0.3 + Math.abs(dx) * 0.5) {
        return dx > 0.05 ? 4 : 3;
      }
      if (Math.abs(dx) < 0.06 && y > 0.5 && y < 0.7) return 4;
      if (hair < 1 && (y < 0.42 || long)) return 2;
      if (long && Math.abs(dx) < 0.22 && y > 0.36 && y < 0.74) return 2;
      if ((dx / 0.42) ** 2 + ((y - 1.02) / 0.34) ** 2 < 1) return 5;
      return x - y * 0.4 > 0.3 ? 1 : 0;
    },
  };
}

function still(next: Next, aspect: number): Scene {
  const vase = 0.3 + next() * 0.15;
  const fruit = Array.from({ length: 3 }, (_, i) => ({
    x: 0.55 + i * 0.13 + next() * 0.04,
    y: 0.66 + next() * 0.05,
    r: 0.055 + next() * 0.03,
    c: 5 + (i % 3),
  }));
  return {
    colours: colours("a89a86 b9ab95 6b4b37 4a6579 3a5163 b8633e c79a4c 7d8a48 52382a"),
    at: (x, y) => {
      const dx = (x - vase) * aspect;
      const neck = y > 0.26 && y < 0.42 && Math.abs(dx) < 0.045;
      const belly = (dx / 0.14) ** 2 + ((y - 0.56) / 0.18) ** 2 < 1;
      if (neck || belly) return dx > 0.03 ? 4 : 3;
      const one = fruit.find((it) => disc(x, y, it.x, it.y, it.r, aspect));
      if (one) return one.c;
      if (y > 0.7) return y > 0.86 ? 8 : 2;
      return x > 0.4 + y * 0.3 ? 1 : 0;
    },
  };
}

const kinds: [RegExp, (next: Next, aspect: number) => Scene][] = [
  [/harbour|boat|sea|ship|coast|lake/i, harbour],
  [/city|street|district|foundry|tower/i, city],
  [/forest|wood|trees/i, forest],
  [/portrait|captain|heroine|character|crew|face/i, portrait],
  [/vase|still|props?|fruit|table/i, still],
];

/** Rows of places in a palette, each begun by 0 as PNG wants them. */
export function paint(prompt: string, seed: number, width: number, height: number) {
  const next = chance(seed);
  const aspect = width / height;
  const make = kinds.find(([words]) => words.test(prompt))?.[1] ?? hills;
  const scene = make(next, aspect);
  const rows = new Uint8Array(height * (width + 1));
  for (let j = 0; j < height; j++)
    for (let i = 0; i < width; i++) rows[j * (width + 1) + i + 1] = scene.at(i / width, j / height);
  return { rows, palette: Uint8Array.from(scene.colours.flat()) };
}
