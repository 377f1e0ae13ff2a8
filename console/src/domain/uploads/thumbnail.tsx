import { useEffect, useRef } from "react";

/** A picture that is not on a server yet: the content policy takes it from a script only. */
export function Thumbnail({ picture, label }: { picture: ImageBitmap; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    element.width = picture.width;
    element.height = picture.height;
    element.getContext("2d")?.drawImage(picture, 0, 0);
  }, [picture]);
  return <canvas ref={canvas} role="img" aria-label={label} className="size-full object-cover" />;
}
