/** Texts of the page of a stream: English, Chinese. */
export const streamsTexts = {
  "stream.json": [
    "Messages on this topic are read for these data points alone.",
    "此主题的消息只解析为以下数据点。",
  ],
  "stream.binary": [
    "The bytes of a message on this topic are these data points one after the other, big endian, without a gap.",
    "此主题消息的字节依次为以下数据点，大端序，无间隔。",
  ],
  "stream.noPoints": [
    "No data point yet: messages on this topic give no points. Choose those of the product that they carry, or make a new one.",
    "暂无数据点，此主题的消息不会产生任何点。请选择产品中的数据点，或新建一个。",
  ],
  "stream.newPoint": ["New data point", "新建数据点"],
  "stream.up": ["{name}: one place up", "{name}：上移"],
  "stream.down": ["{name}: one place down", "{name}：下移"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
