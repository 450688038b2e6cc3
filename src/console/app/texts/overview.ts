/** Texts of the overview: English, Chinese. */
export const overviewTexts = {
  "overview.begin": ["Nothing is here yet", "这里还没有内容"],
  "overview.beginText": [
    "A product says what its devices measure; a device sends it. What it sends appears here.",
    "产品定义设备测量的内容，设备上报数据。上报的数据将显示在此处。",
  ],
  "overview.first": ["Connect a first device", "接入第一台设备"],
  "overview.messages": ["Messages", "消息"],
  "overview.points": ["Points stored", "已存储的数据点"],
  "overview.perSecond": ["{rate} a second", "每秒 {rate}"],
  "overview.refused": ["Refused in the last ten minutes", "最近十分钟被拒绝"],
  "overview.newestAlerts": ["Newest alerts", "最新告警"],
  "overview.allAlerts": ["All {count} alerts", "全部 {count} 条告警"],
  "overview.full": ["nothing is taken: the disk is full", "磁盘已满，暂停接收"],
  "overview.commit": [
    "on disk in {p50} ms, 99 of 100 within {p99} ms",
    "落盘 {p50} 毫秒，99% 不超过 {p99} 毫秒",
  ],
  "overview.lag": [
    "{messages} acknowledged but not readable yet, the oldest for {seconds} s",
    "{messages} 条已确认消息尚不可读，最久 {seconds} 秒",
  ],
  "overview.free": ["{size} GB free", "剩余 {size} GB"],
  "overview.deployment": ["This deployment", "本部署"],
  "overview.deploymentText": [
    "Version {version}, points in the {engine} engine, running since {startedAt}; {connections} connections; loop held up to {delay} ms.",
    "版本 {version}，存储引擎 {engine}，自 {startedAt} 起运行；{connections} 个连接；事件循环最长占用 {delay} 毫秒。",
  ],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
