/** Below it lie the parts of the reference page, which are no interface. */
export const partsPath = "/reference/";
