/** Texts of what belongs together, and of what administrators do: English, Chinese. */
export const adminTexts = {
  "contact.inUse": ["in use", "已启用"],
  "contact.off": ["not in use", "未启用"],
  "contact.test": ["Send a test", "发送测试"],
  "contact.preview": ["Preview a message", "预览消息"],
  "contact.delivered": ["delivered", "已送达"],
  "contact.failed": ["not delivered", "未送达"],
  "bind.search": ["{what}: search by name", "{what}：按名称搜索"],
  "bind.give": ["Add", "添加"],
  "bind.take": ["Take away", "移除"],
  "bind.subscriptions": [
    "Every session of the devices gets what comes to these topics, without asking for it.",
    "设备的每个会话都会收到这些主题的消息，无需自行订阅。",
  ],
  "bind.sure": ["Take away {count}?", "移除 {count} 条？"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
