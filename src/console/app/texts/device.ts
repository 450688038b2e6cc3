/** Texts of the page of a device: English, Chinese. */
export const deviceTexts = {
  "device.now": ["Now", "实时"],
  "device.blocked": ["blocked", "禁止访问"],
  "device.connected": ["from {ip} since {at}", "自 {at} 起从 {ip} 连接"],
  "device.noPoints": [
    "This product has no data points yet: they appear here with their newest values.",
    "该产品还没有数据点，添加后最新值将显示在此处。",
  ],
  "device.noMessages": [
    "No messages yet: they appear here as they come.",
    "还没有消息，收到后将显示在此处。",
  ],
  "device.refused": ["{count} refused: {reason}", "{count} 个被拒绝：{reason}"],
  "device.username": ["User name", "用户名"],
  "device.token": ["Token", "令牌"],
  "command.topic": ["Topic", "主题"],
  "command.payload": ["Payload", "内容"],
  "command.send": ["Send", "发送"],
  "command.sent": ["handed over", "已下发"],
  "command.failed": ["nobody is there to take it", "设备不在线，无人接收"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
