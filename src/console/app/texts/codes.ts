/** Words of codes where there is no dictionary: for shares, and for codes that are texts. English, Chinese. */
export const codesTexts = {
  "code.alertSeverity.1": ["urgent", "紧急"],
  "code.alertSeverity.2": ["major", "主要"],
  "code.alertSeverity.3": ["minor", "次要"],
  "code.alertSeverity.4": ["warning", "警告"],
  "code.deviceStatus.0": ["offline", "离线"],
  "code.deviceStatus.1": ["online", "在线"],
  "code.deviceStatus.2": ["sleeping", "休眠"],
  "code.role.admin": ["administrator", "管理员"],
  "code.role.operator": ["operator", "操作员"],
  "code.role.viewer": ["viewer", "只读用户"],
  "code.action.create": ["made", "新建"],
  "code.action.update": ["edited", "修改"],
  "code.action.delete": ["deleted", "删除"],
  "code.status.waiting": ["waiting", "等待中"],
  "code.status.delivered": ["delivered", "已送达"],
  "code.status.failed": ["failed", "失败"],
} as const satisfies Readonly<Record<string, readonly [en: string, zh: string]>>;
