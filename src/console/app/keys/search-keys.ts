/** How the keys of the search are called on this machine. */
export const searchKeys = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ K" : "Ctrl K";
