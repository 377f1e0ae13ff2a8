/** Saves text as a file of the reader. */
export function download(name: string, type: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // browsers read it after the press
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
