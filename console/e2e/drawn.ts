import type { Page } from "@playwright/test";

/** PNG files that differ, drawn in a browser: pictures for a training. */
export async function drawn(page: Page, count: number, edge = 640) {
  const pictures = await page.evaluate(
    ([count, edge]) =>
      Array.from({ length: count }, (_, i) => {
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = edge;
        const pen = canvas.getContext("2d");
        if (!pen) return "";
        pen.fillStyle = `oklch(0.82 0.04 ${60 + i * 50})`;
        pen.fillRect(0, 0, edge, edge);
        pen.fillStyle = `oklch(0.52 0.11 ${230 + i * 24})`;
        pen.fillRect(0, edge * (0.6 + i * 0.03), edge, edge);
        pen.beginPath();
        pen.fillStyle = `oklch(0.75 0.14 ${50 + i * 9})`;
        pen.arc(edge * (0.3 + i * 0.1), edge * 0.45, edge * 0.17, 0, 7);
        pen.fill();
        return canvas.toDataURL("image/png").split(",")[1] ?? "";
      }),
    [count, edge] as const,
  );
  return pictures.map((base64, i) => ({
    name: `lantern-${i + 1}.png`,
    mimeType: "image/png",
    buffer: Buffer.from(base64, "base64"),
  }));
}
