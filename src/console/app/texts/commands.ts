/** Texts of commands and schedules: English, Chinese. */
export const commandsTexts = {
  "command.to": ["To a", "对象"],
  "command.target": ["Name", "名称"],
  "command.qos": ["Receipt", "回执"],
  "command.qos1": ["QoS 1: with a receipt", "QoS 1：需要回执"],
  "command.qos0": ["QoS 0: once, without", "QoS 0：发送一次，无回执"],
  "command.ttl": ["Seconds that it may wait", "有效时间（秒）"],
  "command.needAck": ["A receipt from each member", "每个成员单独回执"],
  "target.device": ["Device", "设备"],
  "target.gateway": ["Gateway", "网关"],
  "target.group": ["Group", "分组"],
  "schedule.when": ["When", "执行方式"],
  "schedule.once": ["Once", "一次"],
  "schedule.every": ["Every so many minutes", "按间隔重复"],
  "schedule.cron": ["By a cron expression", "按 Cron 表达式"],
  "schedule.at": ["At", "时间"],
  "schedule.minutes": ["Minutes", "分钟"],
  "schedule.own": ["{at} in the zone of the service, {zone}", "服务所在时区 {zone} 的 {at}"],
  "schedule.hint": [
    "minute, hour, day, month, weekday; by the clock of {zone}",
    "分 时 日 月 星期；按 {zone} 的时钟",
  ],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
