import type { Schedule } from "../../store/metadata/commands/schedules.js";
import { payloadText } from "../journal-lists/payload-text.js";
import type { Labelled } from "./context.js";

export function scheduleListed(schedule: Schedule, { stamp, label }: Labelled) {
  return {
    id: schedule.id,
    scheduleName: schedule.scheduleName,
    scheduleType: schedule.scheduleType,
    scheduleTypeLabel: label("scheduleType", schedule.scheduleType),
    IntervalMinute: schedule.IntervalMinute,
    IntervalHour: null,
    IntervalWeek: null,
    crontabTime: stamp(schedule.crontabTime),
    crontab: schedule.crontab,
    nextAt: stamp(schedule.nextAt),
    payload: payloadText(new Uint8Array(schedule.payload)),
    topic: schedule.topic,
    publishType: schedule.publishType,
    deviceIntID: schedule.deviceIntID,
    deviceName: schedule.deviceName,
    groupIntID: schedule.groupIntID,
    groupName: schedule.groupName,
    username: schedule.createUser,
    createUser: schedule.createUser,
    userIntID: schedule.userIntID,
    createAt: stamp(schedule.createAt),
    updateAt: stamp(schedule.updateAt),
  };
}
