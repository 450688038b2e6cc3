import { PlaceMap } from "../../map/LazyMaps.js";
import { formatHref, goTo } from "../../router.js";
import type { PanelProps } from "../context.js";
import type { MapPanel as MapDocument } from "../document.js";

export function MapPanel({ panel, board: { source, round }, height, isVisible }: PanelProps<MapDocument>) {
  return (
    <PlaceMap
      clusters={(bbox, zoom, signal) => source.places(panel, { bbox, zoom }, signal)}
      source={JSON.stringify([panel, source.key])}
      round={round}
      height={`${height}px`}
      label={panel.title}
      isPart
      isVisible={isVisible}
      {...(source.isOwn ? { onOpen: (id: number) => goTo(formatHref(`/devices/${id}`)) } : {})}
    />
  );
}
