/** The display texts of the interface: one dictionary, name of the field → code → label. */
const protocols = { 1: "MQTT", 2: "CoAP", 3: "LwM2M", 4: "LoRa", 5: "HTTP", 6: "WebSocket", 7: "Modbus" };

export const dictionary = {
  cloudProtocol: protocols,
  gatewayProtocol: protocols,
  upLinkProtocol: protocols,
  authType: { 1: "Token", 2: "证书" },
  deviceStatus: { 0: "离线", 1: "在线", 2: "休眠" },
  connectStatus: { 0: "下线", 1: "上线", 2: "认证失败" },
  deviceType: { 1: "终端", 3: "智能手机" },
  carrier: { 1: "中国电信", 2: "中国移动", 3: "中国联通", 4: "其他" },
  physicalNetwork: { 1: "WIFI", 2: "2G", 3: "3G", 4: "4G", 5: "NB-IOT", 6: "BlueTooth" },
  upLinkNetwork: { 1: "2G", 2: "3G", 3: "4G", 4: "Wi-Fi", 5: "NB-IoT" },
  publishStatus: { 0: "下发失败", 1: "已下发", 2: "已到达", 3: "不需要回执" },
  pointDataType: {
    1: "数值",
    3: "字符串",
    4: "故障",
    5: "布尔",
    6: "地理位置",
    11: "定长字符串",
    12: "变长字符串",
    13: "定长binary",
    14: "变长binary",
    15: "有符号整型",
    16: "无符号整型",
    17: "单精度浮点型",
    18: "双精度浮点型",
    19: "bit类型",
    21: "有符号长整型",
    22: "无符号长整型",
    23: "布尔",
    24: "时间",
    25: "浮点",
  },
  dataTransType: { 1: "只上报", 2: "只下发", 3: "可上报可下发" },
  streamType: { 1: "设备数据上报", 2: "设备数据下发", 3: "网关数据上报", 4: "网关数据下发" },
  streamDataType: { 1: "JSON", 2: "二进制" },
  metricType: { 1: "公式指标", 2: "聚合指标" },
  aggregateType: {
    1: "最大值",
    2: "最小值",
    3: "平均值",
    4: "累计值",
    5: "增量",
    6: "首值",
    7: "末值",
    8: "计数",
  },
  aggregateData: { 1: "公式值", 2: "原始值" },
  chartType: { 1: "折线图", 2: "柱状图" },
  alertSeverity: { 1: "紧急", 2: "主要", 3: "次要", 4: "警告" },
  templateType: { 1: "开关", 2: "枚举", 3: "数值", 4: "字符串", 5: "布尔", 6: "时间" },
  scheduleType: { 0: "定时不重复", 1: "定时重复", 2: "已完成" },
  access: { 0: "发布", 1: "订阅", 2: "发布和订阅" },
  allow: { 0: "拒绝", 1: "允许" },
  scopeType: { 1: "活动区域", 2: "禁止区域" },
  "lora.fcntCheck": { 0: "Strict 16-bit", 1: "Strict 32-bit", 2: "Reset on zero", 3: "Disabled" },
} as const satisfies Record<string, Readonly<Record<number, string>>>;

/** Codes of Variant B where they differ. */
export const dictionaryB = {
  deviceType: { 0: "终端", 1: "网关", 2: "智能手机" },
  status: { 0: "离线", 1: "在线" },
  /** The deviceStatus of connect logs. */
  deviceStatus: dictionary.connectStatus,
} as const satisfies Record<string, Readonly<Record<number, string>>>;

/** Fields whose codes are texts. */
export const textDictionary = {
  codeValue: {
    serialNumber: "序列号",
    softVersion: "软件版本",
    hardwareVersion: "硬件版本",
    manufacturer: "制造商",
  },
  "lora.region": Object.fromEntries(
    [
      "EU863-870",
      "US902-928",
      "US902-928-PR",
      "CN779-787",
      "EU433",
      "AU915-928",
      "CN470-510",
      "KR920-923",
    ].map((region) => [region, region]),
  ),
} as const satisfies Record<string, Readonly<Record<string, string>>>;

type DictionaryName = keyof typeof dictionary;

/** The codes that a field takes. */
export function listCodes(name: DictionaryName): number[] {
  return Object.keys(dictionary[name]).map(Number);
}
