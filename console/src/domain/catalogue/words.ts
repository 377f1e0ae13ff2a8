import { needWords } from "@/i18n";

/** Words of the catalogue's pages: those of stock are on them too. */
export async function needCatalogueWords() {
  await Promise.all([needWords("stock"), needWords("catalogue")]);
}
