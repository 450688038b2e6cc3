import { useAsk } from "../../ask.js";
import { wordOf } from "../../codes.js";
import { t } from "../../i18n.js";
import { hrefOf } from "../../router.js";
import type { PanelProps } from "../context.js";
import type { MapPanel as MapDocument } from "../document.js";
import { PanelAnswer } from "./PanelAnswer.js";

/** Placeholder until the map is merged: where devices are, as a list. */
export function MapPanel({ panel, board, isVisible }: PanelProps<MapDocument>) {
  const { source, round } = board;
  const asked = useAsk(isVisible ? JSON.stringify([panel, source.key, round]) : null, (signal) =>
    source.places(panel, { bbox: "-180,-90,180,90", zoom: 2 }, signal),
  );
  return (
    <PanelAnswer asked={asked}>
      {({ clusters, total }) => (
        <p>
          {total} {clusters.length} {wordOf("deviceStatus", 1)} {t("nav.devices")} {hrefOf("/")}
        </p>
      )}
    </PanelAnswer>
  );
}
