/** The address of the tiles of a map, with the places of their numbers. */
const places = ["{z}", "{x}", "{y}"] as const;

/** A tile of the usual grid: the earth in Web Mercator, cut into 2^z columns and rows. */
export interface TilePlace {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** The host must not depend on a tile, and credentials cannot be sent in an address. */
export function isTileTemplate(text: string): boolean {
  if (!/^https?:\/\/[^/?#{}@\s]+\/[^#\s]*$/.test(text)) return false;
  const filled = tileUrl(text, { z: 0, x: 0, y: 0 });
  return places.every((one) => text.includes(one)) && !/[{}]/.test(filled) && URL.canParse(filled);
}

export const tileUrl = (template: string, { z, x, y }: TilePlace): string =>
  template.replaceAll("{z}", String(z)).replaceAll("{x}", String(x)).replaceAll("{y}", String(y));
