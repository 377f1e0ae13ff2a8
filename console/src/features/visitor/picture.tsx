import { useStore } from "@/lib/store";
import { theme } from "@/lib/theme";
import { PICTURE } from "./picture-size";

/** A picture of the product in both looks. `npm run pictures:product` makes them again. */
export interface ProductPicture {
  light: string;
  dark: string;
}

/** In the look of the page: that of the system, unless the reader has chosen one. */
export function Picture({ of, alt, first }: { of: ProductPicture; alt: string; first?: boolean }) {
  const chosen = useStore(theme);
  return (
    <picture className="block overflow-hidden rounded-lg border border-line">
      {chosen === "system" && <source media="(prefers-color-scheme: dark)" srcSet={of.dark} />}
      <img
        src={chosen === "dark" ? of.dark : of.light}
        alt={alt}
        {...PICTURE}
        loading={first ? "eager" : "lazy"}
        className="block h-auto w-full"
      />
    </picture>
  );
}
