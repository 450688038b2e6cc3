/** Texts of the way to a first device: English, Chinese. */
export const startTexts = {
  "start.title": ["Connect a first device", "接入第一台设备"],
  "start.product": ["Product", "产品"],
  "start.productHint": ["What kind of device it is.", "设备的种类。"],
  "start.key": ["What it measures", "测量内容"],
  "start.keyHint": [
    'The key in its messages: temp for {"temp": 21.5}. May be left empty.',
    '消息中的键：例如 {"temp": 21.5} 中的 temp。可以留空。',
  ],
  "start.device": ["Device ID", "设备编号"],
  "start.deviceHint": ["Letters, digits and dashes; no spaces.", "字母、数字和连字符，不含空格。"],
  "start.make": ["Make both", "创建"],
  "start.connected": ["Connected", "已连接"],
  "start.message": ["A message has come", "已收到消息"],
  "start.points": ["It has become points", "已转换为数据点"],
  "start.whyNot": ["What has become no point, and why", "未转换的内容及原因"],
  "start.noForm": [
    'The payload is in no form that is known: JSON like {"temp": 21.5} is.',
    '无法识别消息格式，例如可使用 JSON：{"temp": 21.5}。',
  ],
  "start.unknown": ["is no data point of this product.", "不是该产品的数据点。"],
  "start.similar": [
    "is no data point of this product; there is {name}.",
    "不是该产品的数据点，已有 {name}。",
  ],
  "start.makePoint": ["Make {key} a data point", "将 {key} 设为数据点"],
  "start.toDevice": ["To the device", "前往设备"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
