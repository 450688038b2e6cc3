import type { PolicyRule } from "../store/metadata/devices/access.js";
import { covers, inboxAlias, inboxTopic } from "./messages/topics.js";

/** The device that the rules are bound to. */
interface RuleNames {
  readonly deviceID: string;
  readonly deviceUsername: string;
}

/**
 * What the rules of one device let it say and hear. Deny wins; with an allow rule for the action only allowed
 * topics pass, without one its whole space is open.
 */
export interface AccessRules {
  mayPublish(topic: string): boolean;
  /** Whether a message on the topic may be delivered to the device. */
  mayReceive(topic: string): boolean;
  /** Whether the filter covers any topic that may be received. */
  maySubscribe(filter: string): boolean;
}

/** One level of a filter: a name, or a wildcard. Names are literal even where they look like wildcards. */
type Level = string | typeof one | typeof rest;
const one: unique symbol = Symbol("+");
const rest: unique symbol = Symbol("#");
type Levels = readonly Level[];

/** No filter and no name holds U+0000: it stands for every name that no rule mentions. */
const anyOther = "\0";

interface ActionRules {
  readonly allowed: readonly Levels[];
  readonly denied: readonly Levels[];
}

const actionOfAccess = { publish: 0, subscribe: 1 } as const;

/** Null for a device without rules, which costs nothing. Rules are parsed when the first topic is looked up. */
export function compilePolicies(rules: readonly PolicyRule[], names: RuleNames): AccessRules | null {
  if (rules.length === 0) return null;
  const alias = inboxAlias(names.deviceID);
  let publish: ActionRules | undefined;
  let subscribe: ActionRules | undefined;

  /** The inbox is one topic with two names: a rule for either is a rule for both. */
  function passes({ allowed, denied }: ActionRules, topic: string): boolean {
    const isInbox = topic === inboxTopic || topic === alias;
    const spellings = (isInbox ? [inboxTopic, alias] : [topic]).map((name) => name.split("/"));
    const matches = (filter: Levels) => spellings.some((levels) => matchesTopic(filter, levels));
    return !denied.some(matches) && (allowed.length === 0 || allowed.some(matches));
  }

  const mayPublish = remembered((topic) => {
    publish ??= compileRules(rules, names, actionOfAccess.publish);
    return passes(publish, topic);
  });
  const mayReceive = remembered((topic) => {
    subscribe ??= compileRules(rules, names, actionOfAccess.subscribe);
    return passes(subscribe, topic);
  });

  return {
    mayPublish,
    mayReceive,
    maySubscribe: remembered((filter) => {
      if ((covers(filter, inboxTopic) || covers(filter, alias)) && mayReceive(inboxTopic)) return true;
      subscribe ??= compileRules(rules, names, actionOfAccess.subscribe);
      const { allowed, denied } = subscribe;
      const wanted = parseFilter(filter);
      const common = allowed.length === 0 ? [wanted] : allowed.flatMap((levels) => shared(wanted, levels));
      const depthMax = Math.max(0, ...denied.map((levels) => levels.length)) + 1;
      return common.some((levels) =>
        instances(levels, depthMax).some(
          (topic) =>
            isTopic(topic) && !denied.some((rule) => matchesTopic(rule, topic)) && passesAsInbox(topic),
        ),
      );
    }),
  };

  function passesAsInbox(topic: readonly string[]): boolean {
    const name = topic.join("/");
    return (name !== inboxTopic && name !== alias) || mayReceive(inboxTopic);
  }
}

/** Verdicts held for each device and action, and the longest topic held. */
const verdictsMax = 64;
const topicLengthMax = 256;

function remembered(decide: (topic: string) => boolean): (topic: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (topic) => {
    const known = verdicts.get(topic);
    if (known !== undefined) return known;
    const verdict = decide(topic);
    if (topic.length > topicLengthMax) return verdict;
    if (verdicts.size >= verdictsMax) verdicts.clear();
    verdicts.set(topic, verdict);
    return verdict;
  };
}

function compileRules(rules: readonly PolicyRule[], names: RuleNames, action: number): ActionRules {
  const ofAction = rules.filter(({ access }) => access === action || access === 2);
  const parsed = (allow: boolean) =>
    ofAction.filter((rule) => (rule.allow === 1) === allow).map((rule) => parseRule(rule.topic, names));
  return { allowed: parsed(true), denied: parsed(false) };
}

function parseFilter(filter: string): Level[] {
  return filter.split("/").map(toLevel);
}

function toLevel(text: string): Level {
  if (text === "+") return one;
  return text === "#" ? rest : text;
}

/** A name put in for `%d` or `%u` is literal, whatever characters it has; its slashes separate levels. */
function parseRule(topic: string, { deviceID, deviceUsername }: RuleNames): Level[] {
  return topic.split("/").flatMap((text): Level[] => {
    const filled = text.replace(/%[du]/g, (word) => (word === "%d" ? deviceID : deviceUsername));
    return text.includes("%d") || text.includes("%u") ? filled.split("/") : [toLevel(text)];
  });
}

/** As a topic filter does, except that wildcards cover `$…` too: those topics lie in the device's space. */
function matchesTopic(filter: Levels, topic: readonly string[]): boolean {
  for (const [i, level] of filter.entries()) {
    if (level === rest) return true;
    if (i >= topic.length || (level !== one && level !== topic[i])) return false;
  }
  return filter.length === topic.length;
}

/** The filter of the topics that a subscription and a rule both cover, if there are any. */
function shared(wanted: Levels, rule: Levels): [Levels] | [] {
  const [first] = rule;
  // A subscription's leading wildcard does not cover `$…` [MQTT-4.7.2-1].
  if (typeof wanted[0] === "symbol" && typeof first === "string" && first.startsWith("$")) return [];
  const both: Level[] = [];
  for (let i = 0; ; i++) {
    const left = wanted[i];
    const right = rule[i];
    if (left === rest) return [[...both, ...rule.slice(i)]];
    if (right === rest) return [[...both, ...wanted.slice(i)]];
    if (left === undefined || right === undefined) return left === right ? [both] : [];
    if (left === one) both.push(right);
    else if (right === one || left === right) both.push(left);
    else return [];
  }
}

/**
 * Topics that stand for all that a filter covers: with names that no rule mentions in place of `+`, and up to
 * `depthMax` levels of them in place of `#`. If rules cover all of these, they cover every topic of the filter.
 */
function instances(filter: Levels, depthMax: number): string[][] {
  const open = filter.at(-1) === rest;
  const fixed = (open ? filter.slice(0, -1) : filter).map((level) =>
    typeof level === "string" ? level : anyOther,
  );
  if (!open) return [fixed];
  const least = fixed.length === 0 ? 1 : 0;
  return Array.from({ length: Math.max(1, depthMax - fixed.length + 1) }, (_, more) => [
    ...fixed,
    ...Array<string>(more + least).fill(anyOther),
  ]);
}

/** `/#` covers an empty name too, which no message can have [MQTT-4.7.3-1]. */
function isTopic(levels: readonly string[]): boolean {
  return levels.length > 1 || levels[0] !== "";
}

/** Carries the rules of a device; absent or null: there are none. */
interface Ruled {
  readonly access?: AccessRules | null;
}

export function mayPublish({ access }: Ruled, topic: string): boolean {
  return access?.mayPublish(topic) ?? true;
}

export function maySubscribe({ access }: Ruled, filter: string): boolean {
  return access?.maySubscribe(filter) ?? true;
}

export function mayReceive({ access }: Ruled, topic: string): boolean {
  return access?.mayReceive(topic) ?? true;
}
