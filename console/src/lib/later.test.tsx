// @vitest-environment happy-dom
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import { type Later, later } from "./later";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const pageOf = ({ usePart }: Later<object>) =>
  function Page({ wanted }: { wanted: boolean }) {
    const Part = usePart(wanted);
    return wanted && Part ? <Part /> : "before";
  };

function draw(content: ReactNode) {
  const at = document.createElement("div");
  const root = createRoot(at);
  act(() => root.render(content));
  return { at, draw: (next: ReactNode) => act(() => root.render(next)) };
}

const Menu = () => "menu";

test("a part is asked for once, and drawn as soon as it is there", async () => {
  const file = vi.fn(async () => ({ default: Menu }));
  const it = later(file);
  const Page = pageOf(it);
  const page = draw(<Page wanted />);
  expect(page.at.textContent).toBe("before");
  await act(async () => {
    it.load();
    it.load();
  });
  expect(page.at.textContent).toBe("menu");
  expect(file).toHaveBeenCalledTimes(1);
});

test("what cannot be loaded is a fault only where it is wanted, and is asked for again", async () => {
  let isCut = true;
  const it = later(async () => {
    if (isCut) throw new Error("cut");
    return { default: Menu };
  });
  const Page = pageOf(it);
  const page = draw(<Page wanted={false} />);
  await act(async () => it.load());
  expect(page.at.textContent).toBe("before");
  expect(() => draw(<Page wanted />)).toThrow("cut");
  isCut = false;
  await act(async () => it.load());
  page.draw(<Page wanted />);
  expect(page.at.textContent).toBe("menu");
});
