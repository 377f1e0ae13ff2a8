/** Pictures that the stand-in's trainings have made. */
const scenes = {
  heroine: {
    size: "0 0 75 100",
    shapes:
      '<rect width="75" height="100" fill="#6d7b74"/><path d="M0 0H32L15 100H0z" fill="#5f6d69"/><path d="M14.5 44q-3-32 23-33t24 31q3 24-5 36h-37q-7-12-5-34z" fill="#3a2a26"/><path d="M4.5 100q2-23 24-27h18q22 4 25 27z" fill="#7a3b34"/><path d="M39.5 73h8q21 4 24 27h-26z" fill="#5f2c2a"/><path d="M30.5 60h14v14q-7 7-14 0z" fill="#b98468"/><path d="M23.5 38q0-17 14-17t14 17q0 26-14 28-14-2-14-28z" fill="#d8ab88"/><path d="M40.5 21q11 2 11 17 0 26-14 28 7-11 4-22l3-1-5-8z" fill="#b98468"/><path d="M21.5 42q-1-25 17-24 15 1 15 20-8-2-13-12-6 12-19 16z" fill="#3a2a26"/>',
  },
  captain: {
    size: "0 0 80 100",
    shapes:
      '<rect width="80" height="100" fill="#8f8674"/><path d="M0 0H34L16 100H0z" fill="#a1967f"/><path d="M7.0 100q2-23 24-27h18q22 4 25 27z" fill="#2f4250"/><path d="M42.0 73h8q21 4 24 27h-26z" fill="#243440"/><path d="M33.0 60h14v14q-7 7-14 0z" fill="#a87555"/><path d="M26.0 38q0-17 14-17t14 17q0 26-14 28-14-2-14-28z" fill="#c99a76"/><path d="M43.0 21q11 2 11 17 0 26-14 28 7-11 4-22l3-1-5-8z" fill="#a87555"/><path d="M26 47q3 7 8 5 6-3 12 0 5 2 8-5 1 20-14 22-15-2-14-22z" fill="#57483b"/><path d="M36 56q4 2 8 0" stroke="#8f5f48" stroke-width="1.400" fill="none"/><path d="M20 31q-1-19 20-19t20 19q-20-6-40 0z" fill="#2f4250"/><path d="M41 12q19 1 19 19-8-3-15-3 2-9-4-16z" fill="#243440"/><path d="M21 31q19-7 38 0l3 5q-22-7-44 0z" fill="#1b2830"/><circle cx="40" cy="22" r="2.200" fill="#c9a45c"/>',
  },
  table: {
    size: "0 0 125 100",
    shapes:
      '<rect width="125" height="100" fill="#a79a86"/><path d="M72 0H125V70H62z" fill="#b6a88f"/><path d="M0 68L125 63V100H0z" fill="#6b4f3d"/><path d="M0 84L125 78V100H0z" fill="#5a4133"/><ellipse cx="48.0" cy="69.0" rx="22.5" ry="3.8" fill="#2a2420" opacity=".3"/><path d="M32.2 24.0h10.5v12.0q13.5 10.5 7.5 33.0h-25.5q-6.0-22.5 7.5-33.0z" fill="#47606c"/><path d="M39.0 24.0h3.8v12.0q13.5 10.5 7.5 33.0h-10.5q4.5-21.0-0.75-45.0z" fill="#37505c"/><ellipse cx="73.8" cy="69.5" rx="12.0" ry="2.2" fill="#2a2420" opacity=".3"/><circle cx="68.8" cy="61" r="10" fill="#b5653b"/><path d="M66.8 51a10 10 0 0 1 0 20a12.5 12.5 0 0 0 0-20z" fill="#934c2d"/><ellipse cx="91.5" cy="72.8" rx="9.6" ry="1.8" fill="#2a2420" opacity=".3"/><circle cx="87.5" cy="66" r="8" fill="#c79a4b"/><path d="M85.9 58a8 8 0 0 1 0 16a10.0 10.0 0 0 0 0-16z" fill="#a77d38"/><ellipse cx="62.2" cy="76.0" rx="8.4" ry="1.5" fill="#2a2420" opacity=".3"/><circle cx="58.8" cy="70" r="7" fill="#7d8a4f"/><path d="M57.4 63a7 7 0 0 1 0 14a8.8 8.8 0 0 0 0-14z" fill="#66733f"/>',
  },
  grove: {
    size: "0 0 67 100",
    shapes:
      '<rect width="67" height="100" fill="#6f8177"/><ellipse cx="37" cy="40" rx="16" ry="38" fill="#d9d6a8" opacity=".55"/><ellipse cx="37" cy="44" rx="9" ry="27" fill="#d9d6a8" opacity=".7"/><path d="M0 76q20-8 37 0t30-3V100H0z" fill="#4f5a43"/><path d="M41.7-4h1.6l1.1 82h-4.1z" fill="#57685f"/><path d="M53.3-4h1.6l1.4 82h-4.1z" fill="#57685f"/><path d="M49.6-4h1.6l1.4 82h-4.1z" fill="#57685f"/><path d="M1.9-4h1.6l0.7 82h-4.1z" fill="#57685f"/><path d="M63.2-4h1.6l1.0 82h-4.1z" fill="#57685f"/><path d="M60.4-4h3.1l0.2 91h-5.6z" fill="#3c4a45"/><path d="M31.4-4h3.1l0.4 91h-5.6z" fill="#3c4a45"/><path d="M36.4-4h3.1l0.9 91h-5.6z" fill="#3c4a45"/><path d="M0.9-4h3.1l0.3 91h-5.6z" fill="#3c4a45"/><path d="M18.7-4h3.1l1.4 91h-5.6z" fill="#3c4a45"/><path d="M51.3-4h3.1l0.2 91h-5.6z" fill="#3c4a45"/><path d="M53.4-4h4.6l0.2 100h-7.1z" fill="#262f2d"/><path d="M41.4-4h4.6l0.2 100h-7.1z" fill="#262f2d"/><path d="M0.1-4h4.6l1.3 100h-7.1z" fill="#262f2d"/><path d="M14.0-4h4.6l0.3 100h-7.1z" fill="#262f2d"/><path d="M65.8-4h4.6l1.3 100h-7.1z" fill="#262f2d"/><path d="M19.4-4h4.6l1.4 100h-7.1z" fill="#262f2d"/><path d="M36.1-4h4.6l1.0 100h-7.1z" fill="#262f2d"/>',
  },
  orchard: {
    size: "0 0 100 100",
    shapes:
      '<rect width="100" height="100" fill="#d8d0b8"/><path d="M0 14q30 -1 55 -1t45 0V100H0z" fill="#cfc4a6"/><path d="M0 27q30 0 55 -3t45 0V100H0z" fill="#c9b58f"/><circle cx="70.0" cy="22" r="7" fill="#efe0b4"/><path d="M0 41.0 q16 -10 31 0 q16 -12 32 3 q10 -12 20 -4 q14 0 27 -4 V110 H0z" fill="#8b9a72"/><path d="M0 55.5 q8 4 16 1 q8 5 15 -4 q10 5 21 -5 q16 5 32 1 q8 -6 15 -5 q16 -9 31 -1 V110 H0z" fill="#73865f"/><path d="M0 71.0 q9 4 18 -4 q16 -4 32 3 q10 -10 19 4 q16 -7 32 0 V110 H0z" fill="#596e52"/><path d="M0 78.5 q16 -11 31 4 q8 6 15 -2 q14 4 29 1 q12 1 24 4 q14 -2 28 -1 V110 H0z" fill="#445641"/>',
  },
  glaze: {
    size: "0 0 100 100",
    shapes:
      '<rect width="100" height="100" fill="#7c8a8c"/><path d="M58 0H100V70H50z" fill="#8b9896"/><path d="M0 68L100 63V100H0z" fill="#b7a892"/><path d="M0 84L100 78V100H0z" fill="#a39379"/><ellipse cx="45.1" cy="67.8" rx="19.5" ry="3.2" fill="#2a2420" opacity=".3"/><path d="M31.4 28.8h9.1v10.4q11.7 9.1 6.5 28.6h-22.1q-5.2-19.5 6.5-28.6z" fill="#9a4a3a"/><path d="M37.3 28.8h3.2v10.4q11.7 9.1 6.5 28.6h-9.1q3.9-18.2-0.65-39.0z" fill="#7b382d"/><ellipse cx="71.0" cy="68.0" rx="15.0" ry="2.5" fill="#2a2420" opacity=".3"/><path d="M60.5 38.0h7.0v8.0q9.0 7.0 5.0 22.0h-17.0q-4.0-15.0 5.0-22.0z" fill="#d2b98c"/><path d="M65.0 38.0h2.5v8.0q9.0 7.0 5.0 22.0h-7.0q3.0-14.0-0.50-30.0z" fill="#b59a6d"/>',
  },
  winter: {
    size: "0 0 150 100",
    shapes:
      '<rect width="150" height="100" fill="#d7d9d6"/><path d="M0 14q45 -4 82 3t68 0V100H0z" fill="#cdd2d2"/><path d="M0 27q45 5 82 3t68 0V100H0z" fill="#c4cbcd"/><path d="M0 50.0 q12 2 23 -2 q14 3 29 -3 q15 3 30 -2 q7 -13 14 0 q16 0 32 -4 q9 -6 18 -2 q8 0 15 6 V110 H0z" fill="#b4bec2"/><path d="M0 64.5 q14 6 27 2 q8 -3 15 3 q14 -10 29 5 q12 -13 25 -3 q8 -10 16 -5 q14 -8 28 3 q12 -1 24 2 V110 H0z" fill="#98a6ad"/><path d="M0 67.0 q10 -12 19 2 q10 -11 21 -2 q10 5 20 6 q8 -10 16 3 q14 4 29 1 q10 -3 20 -3 q16 0 31 -1 V110 H0z" fill="#76868f"/><path d="M0 82.5 q14 3 28 1 q12 2 24 1 q11 -13 22 -4 q10 2 19 -5 q14 -11 29 3 q16 3 33 -2 V110 H0z" fill="#566670"/>',
  },
} as const;

export type Scene = keyof typeof scenes;

export function drawing(scene: Scene): string {
  const { size, shapes } = scenes[scene];
  const [, , width, height] = size.split(" ").map(Number);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${size}" width="${(width ?? 1) * 5}" height="${(height ?? 1) * 5}">${shapes}</svg>`;
}
