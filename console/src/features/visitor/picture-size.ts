/** Of the pictures of the product, in pixels: `npm run pictures:product` makes them. */
export const PICTURE = { width: 1120, height: 720 };
