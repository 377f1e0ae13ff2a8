import { paint } from "./painting.ts";

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc(bytes: Uint8Array) {
  let c = 0xffffffff;
  for (const byte of bytes) c = (table[(c ^ byte) & 0xff] ?? 0) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

function chunk(type: string, data: Uint8Array) {
  const bytes = new Uint8Array(data.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(data.length + 8, crc(bytes.subarray(4, data.length + 8)));
  return bytes;
}

async function deflate(data: Uint8Array<ArrayBuffer>) {
  const packed = new Blob([data]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** The longer edge of what is drawn: enough for a page. */
const EDGE = 768;

export interface Painted {
  prompt: string;
  seed: number;
  width: number;
  height: number;
  /** What the engine writes into its pictures. */
  text: string;
}

/** A PNG with its text, as the engine of the platform writes it. */
export async function pngOf({ prompt, seed, width, height, text }: Painted): Promise<Uint8Array> {
  const scale = Math.min(1, EDGE / Math.max(width, height));
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  const { rows, palette } = paint(prompt, seed, w, h);
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, w);
  view.setUint32(4, h);
  head.set([8, 3, 0, 0, 0], 8);
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", head),
    chunk("tEXt", Uint8Array.from([...`parameters\0${text}`].map((it) => it.charCodeAt(0) & 0xff))),
    chunk("PLTE", palette),
    chunk("IDAT", await deflate(rows)),
    chunk("IEND", new Uint8Array()),
  ];
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}
