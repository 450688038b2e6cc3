/**
 * Values by topic filter, and those whose filters cover a topic, found in one walk over all of them (MQTT 5.0 §4.7). A
 * chain of levels without a branch is one node, which refers to a filter's text instead of copying it: there are fewer
 * than two nodes a filter, however many levels it has.
 */
export interface FilterTrie<Value> {
  set(filter: string, value: Value): void;
  delete(filter: string): void;
  /** In no particular order. */
  covering(topic: string): Value[];
  readonly size: number;
}

interface Node<Value> {
  /** Some filter through this node; its levels from `from` to `to`, in characters, lead here from the parent. */
  text: string;
  from: number;
  to: number;
  /** By their first level; `+` is one of them. */
  children: Map<string, Node<Value>> | null;
  /** `here`: the value of the filter that ends here; `rest`: that of the one that continues with `#`. */
  here: Value | undefined;
  rest: Value | undefined;
}

const [plus, slash, dollar] = [0x2b, 0x2f, 0x24];

/** Values must not be undefined. */
export function createFilterTrie<Value>(): FilterTrie<Value> {
  const root = createNode<Value>("", 0, -1);
  let size = 0;

  function set(filter: string, value: Value): void {
    const { length, endsInRest } = parseStem(filter);
    let node = root;
    for (let at = 0; at <= length; ) {
      const key = levelAt(filter, at, length);
      const child = node.children?.get(key);
      if (child === undefined) {
        const leaf = createNode<Value>(filter, at, length);
        adopt(node, leaf);
        node = leaf;
        break;
      }
      const common = commonEnd(child, filter, at, length);
      node = common === child.to ? child : split(node, child, common);
      at = common + 1;
    }
    const slot = endsInRest ? "rest" : "here";
    if (node[slot] === undefined) size++;
    node[slot] = value;
  }

  function remove(filter: string): void {
    const { length, endsInRest } = parseStem(filter);
    const path: Node<Value>[] = [root];
    let node = root;
    for (let at = 0; at <= length; at = node.to + 1) {
      const child = node.children?.get(levelAt(filter, at, length));
      if (child === undefined || child.to > length || commonEnd(child, filter, at, length) !== child.to)
        return;
      path.push(child);
      node = child;
    }
    const slot = endsInRest ? "rest" : "here";
    if (node[slot] === undefined) return;
    node[slot] = undefined;
    size--;
    tidy(path);
  }

  return {
    set,
    delete: remove,
    covering: (topic) => {
      const found: Value[] = [];
      walk(root, splitLevels(topic), 0, found);
      return found;
    },
    get size() {
      return size;
    },
  };
}

function createNode<Value>(text: string, from: number, to: number): Node<Value> {
  return { text, from, to, children: null, here: undefined, rest: undefined };
}

/** Without a last level `#`; -1 if that is all of it. */
function parseStem(filter: string): { readonly length: number; readonly endsInRest: boolean } {
  const endsInRest = filter === "#" || filter.endsWith("/#");
  return { length: endsInRest ? filter.length - 2 : filter.length, endsInRest };
}

function levelAt(text: string, at: number, length: number): string {
  const end = text.indexOf("/", at);
  return text.slice(at, end < 0 || end > length ? length : end);
}

function adopt<Value>(parent: Node<Value>, child: Node<Value>): void {
  parent.children ??= new Map();
  parent.children.set(levelAt(child.text, child.from, child.to), child);
}

/** Where the levels that the node and the filter share end: at a border of levels, no further than `node.to`. */
function commonEnd(node: { text: string; to: number }, filter: string, from: number, length: number): number {
  // Both have the same characters before `from`: one offset serves both texts.
  const most = Math.min(node.to, length);
  let end = from;
  for (let at = from; ; at++) {
    const isEndOfNode = at === node.to || node.text.charCodeAt(at) === slash;
    const isEndOfFilter = at === length || filter.charCodeAt(at) === slash;
    if (isEndOfNode && isEndOfFilter) end = at;
    if (at === most || isEndOfNode !== isEndOfFilter) return end;
    if (node.text.charCodeAt(at) !== filter.charCodeAt(at)) return end;
  }
}

/** Cuts the edge to the child at `end`; returns the node that is there now. */
function split<Value>(parent: Node<Value>, child: Node<Value>, end: number): Node<Value> {
  const upper = createNode<Value>(child.text, child.from, end);
  adopt(parent, upper);
  child.from = end + 1;
  adopt(upper, child);
  return upper;
}

/** Removes nodes that are no longer needed, from the end of the path up. */
function tidy<Value>(path: readonly Node<Value>[]): void {
  for (let i = path.length - 1; i > 0; i--) {
    const [parent, node] = [path[i - 1] as Node<Value>, path[i] as Node<Value>];
    if (node.here !== undefined || node.rest !== undefined) return;
    const { children } = node;
    if (children === null) {
      parent.children?.delete(levelAt(node.text, node.from, node.to));
      if (parent.children?.size === 0) parent.children = null;
    } else if (children.size === 1) {
      for (const only of children.values()) {
        only.from = node.from;
        adopt(parent, only);
      }
      return;
    } else return;
  }
}

/** A topic, and where each of its levels ends: found once, for thousands of filters ask. */
interface Levels {
  readonly topic: string;
  readonly ends: readonly number[];
}

function splitLevels(topic: string): Levels {
  const ends: number[] = [];
  for (let at = topic.indexOf("/"); at >= 0; at = topic.indexOf("/", at + 1)) ends.push(at);
  ends.push(topic.length);
  return { topic, ends };
}

/** `level`: the topic's next one by its number; past the last if there is none. */
function walk<Value>(node: Node<Value>, of: Levels, level: number, found: Value[]): void {
  const { topic, ends } = of;
  // A leading wildcard does not cover `$…` [MQTT-4.7.2-1].
  const hidesWildcards = level === 0 && topic.charCodeAt(0) === dollar;
  if (node.rest !== undefined && !hidesWildcards) found.push(node.rest);
  if (level === ends.length) {
    if (node.here !== undefined) found.push(node.here);
    return;
  }
  const { children } = node;
  if (children === null) return;
  const begin = level === 0 ? 0 : (ends[level - 1] as number) + 1;
  // No topic has a level `+`: the two are never the same child.
  const named = children.get(topic.slice(begin, ends[level]));
  const any = hidesWildcards ? undefined : children.get("+");
  if (named !== undefined) descend(named, of, level, found);
  if (any !== undefined) descend(any, of, level, found);
}

/** Along the levels that lead to the node, then on from there. */
function descend<Value>(node: Node<Value>, of: Levels, from: number, found: Value[]): void {
  const { topic, ends } = of;
  const { text, to } = node;
  let level = from;
  for (let f = node.from; ; f++) {
    if (text.charCodeAt(f) === plus) f++;
    else {
      let t = level === 0 ? 0 : (ends[level - 1] as number) + 1;
      const end = ends[level] as number;
      for (; t < end; f++, t++) if (f === to || text.charCodeAt(f) !== topic.charCodeAt(t)) return;
      if (f < to && text.charCodeAt(f) !== slash) return;
    }
    level++;
    if (f === to) return walk(node, of, level, found);
    if (level === ends.length) return;
  }
}
