/** Texts of ranges of time and charts: English, Chinese. */
export const exploreTexts = {
  "range.earlier": ["Earlier", "更早"],
  "range.later": ["Later", "更晚"],
  "range.wrong": ["This range means no time, or ends before it begins.", "时间范围无效，或结束早于开始。"],
  "explore.device": ["Device", "设备"],
  "explore.window": ["Window", "窗口"],
  "explore.zone": ["Zone", "时区"],
  "explore.empty": ["Choose a device: its values appear here.", "请选择设备，其数据将显示在此处。"],
  "explore.noPoints": ["No points in this range.", "此时间范围内没有数据。"],
  "unit.real": ["every point", "每个点"],
  "unit.minute": ["minute", "分钟"],
  "unit.hour": ["hour", "小时"],
  "unit.day": ["day", "天"],
  "unit.week": ["week", "周"],
  "unit.month": ["month", "月"],
  "unit.year": ["year", "年"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
