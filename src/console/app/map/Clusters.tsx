/** Marks of devices on a map, each a button that says how many there are and how they do. */
import { DivIcon, DomEvent, type Map as LeafletMap, Marker } from "leaflet";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Status } from "../shell/Status.js";
import { type Cluster, turnedTo, withoutOverlap, withSpace } from "./places.js";
import { chooseClusterTone, describeClusterState, nameCluster } from "./states.js";

interface ClustersProps {
  readonly map: LeafletMap;
  readonly clusters: readonly Cluster[];
  /** The device that is looked at. */
  readonly chosen: number | null;
  onCluster(cluster: Cluster): void;
}

interface Mark {
  readonly marker: Marker;
  readonly place: HTMLElement;
}

const cellPixels = 64;
const risen = 10_000;

export function Clusters({ map, clusters: found, chosen, onCluster }: ClustersProps) {
  const marks = useRef(new Map<string, Mark>());
  useEffect(() => () => clear(marks.current), [map]);
  useEffect(() => {
    const seen = new Set<string>();
    const clusters = withoutOverlap(found, ({ latitude, longitude }) =>
      map.project([latitude, turnedTo(longitude, map.getCenter().lng)]),
    );
    const named = chooseNamed(map, clusters);
    for (const [i, cluster] of clusters.entries()) {
      const key = clusterKey(map, cluster);
      seen.add(key);
      const { marker, place } = marks.current.get(key) ?? newMark(map, marks.current, key);
      marker.setLatLng([cluster.latitude, turnedTo(cluster.longitude, map.getCenter().lng)]);
      render(
        <ClusterMark
          cluster={cluster}
          isNamed={named.has(i)}
          isChosen={chosen !== null && chosen === cluster.deviceIntID}
          onClick={() => onCluster(cluster)}
          onRise={(isRisen) => marker.setZIndexOffset(isRisen ? risen : 0)}
        />,
        place,
      );
    }
    for (const [key, mark] of marks.current) if (!seen.has(key)) remove(marks.current, key, mark);
  });
  return null;
}

function chooseNamed(map: LeafletMap, clusters: readonly Cluster[]): Set<number> {
  return withSpace(
    clusters.map(({ longitude, latitude, count }) => {
      const { x, y } = map.project([latitude, longitude]);
      return { x, y, isNamed: count === 1 };
    }),
  );
}

/** A device keeps its mark wherever it goes, a cluster while it is in the same cell: so does the focus. */
function clusterKey(map: LeafletMap, { deviceIntID, longitude, latitude }: Cluster): string {
  if (deviceIntID !== null) return `device ${deviceIntID}`;
  const { x, y } = map.project([latitude, longitude]).divideBy(cellPixels).floor();
  return `${map.getZoom()} ${x} ${y}`;
}

function newMark(map: LeafletMap, marks: Map<string, Mark>, key: string): Mark {
  const place = document.createElement("div");
  const icon = new DivIcon({ html: place, className: "map-mark", iconSize: [0, 0] });
  const marker = new Marker([0, 0], { icon, interactive: false, keyboard: false }).addTo(map);
  DomEvent.disableClickPropagation(place);
  const mark = { marker, place };
  marks.set(key, mark);
  return mark;
}

function remove(marks: Map<string, Mark>, key: string, { marker, place }: Mark): void {
  render(null, place);
  marker.remove();
  marks.delete(key);
}

function clear(marks: Map<string, Mark>): void {
  for (const [key, mark] of marks) remove(marks, key, mark);
}

interface ClusterMarkProps {
  readonly cluster: Cluster;
  readonly isNamed: boolean;
  readonly isChosen: boolean;
  onClick(): void;
  /** Above its neighbours, so that all of it is read. */
  onRise(isRisen: boolean): void;
}

function ClusterMark({ cluster, isNamed, isChosen, onClick, onRise }: ClusterMarkProps) {
  const { count } = cluster;
  const word = count > 1 ? String(count) : isNamed ? (cluster.deviceName ?? "") : "";
  const label = `${nameCluster(cluster)}: ${describeClusterState(cluster)}`;
  return (
    <button
      type="button"
      class={`mark ${count > 1 ? "many" : "one"}`}
      aria-label={label}
      aria-pressed={count > 1 ? undefined : isChosen}
      title={label}
      onClick={onClick}
      onMouseEnter={() => onRise(true)}
      onMouseLeave={() => onRise(false)}
      onFocus={() => onRise(true)}
      onBlur={() => onRise(false)}
    >
      <Status tone={chooseClusterTone(cluster)} word="" />
      {word !== "" && <span class="cut">{word}</span>}
    </button>
  );
}
