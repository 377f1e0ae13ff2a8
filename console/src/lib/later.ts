import { type ComponentType, createElement, type ReactNode, useEffect } from "react";
import { createStore, useStore } from "./store";

/** A part of a page that has a file of its own. */
export interface Later<Props> {
  /** Begins to load it, unless that has begun. */
  load: () => void;
  /** The same; comes when the part is there, or cannot be loaded. */
  loaded: () => Promise<void>;
  /** The part; null until it is loaded. Throws if it is wanted and cannot be loaded. */
  usePart: (wanted: boolean) => ComponentType<Props> | null;
}

/** Unlike React's `lazy`, which shows what comes before for at least 300 ms, the part is drawn as soon as it is there. */
export function later<Props>(file: () => Promise<{ default: ComponentType<Props> }>): Later<Props> {
  const state = createStore<{ part: ComponentType<Props> | null; error: unknown }>({
    part: null,
    error: null,
  });
  let begun: Promise<void> | null = null;
  const loaded = () => {
    if (begun) return begun;
    if (state.get().error) state.set({ part: null, error: null });
    begun = file().then(
      ({ default: part }) => state.set({ part, error: null }),
      (error: unknown) => {
        begun = null;
        state.set({ part: null, error });
      },
    );
    return begun;
  };
  return {
    load: () => void loaded(),
    loaded,
    usePart: (wanted) => {
      const { part, error } = useStore(state);
      if (wanted && error) throw error;
      return part;
    },
  };
}

/** A part, such as a dialog, whose file is loaded when it is drawn first. */
export function drawnLater<Props extends object>(
  file: () => Promise<{ default: ComponentType<Props> }>,
): (props: Props) => ReactNode {
  const { load, usePart } = later(file);
  return (props) => {
    const Part = usePart(true);
    useEffect(load, []);
    return Part && createElement(Part, props);
  };
}
