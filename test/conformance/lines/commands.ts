import { empty, error, record, text } from "../form.js";
import { lines } from "../line.js";

const command = { deviceID: "{device.deviceID}", deviceIntID: "{device.id}", payload: "on", topic: "inbox" };
const schedule = { ...command, scheduleName: "s-{unique}", IntervalMinute: "5", scheduleType: 1 };
const answered = record({ publishStatus: text });

export const commandLines = lines("Commands to a device", [
  { says: "publish", in: "AB", call: "POST /device_publish", body: command, status: 201, answer: answered },
  {
    says: "the topic has a default",
    in: "AB",
    call: "POST /device_publish",
    body: { deviceID: "{device.deviceID}", payload: "on" },
    status: 201,
    answer: answered,
  },
  {
    says: "publish needs a payload",
    in: "AB",
    call: "POST /device_publish",
    body: { deviceID: "{device.deviceID}" },
    status: 400,
    answer: error("PARAMETER_INVALID", "payload"),
  },
  {
    says: "publish needs a device",
    in: "B",
    call: "POST /device_publish",
    body: { payload: "on" },
    status: 400,
    answer: error("PARAMETER_INVALID", "deviceID"),
  },
  {
    says: "an unknown device",
    in: "AB",
    call: "POST /device_publish",
    body: { deviceID: "nosuch", payload: "on" },
    status: 404,
    answer: error("DATA_NOT_FOUND"),
  },
  {
    says: "schedule: 201, empty body",
    in: "AB",
    call: "POST /device_schedule_publish",
    body: schedule,
    status: 201,
    answer: empty,
  },
  {
    says: "delete schedules",
    in: "AB",
    given: [
      { as: "made", call: "POST /device_schedule_publish", body: schedule },
      { as: "page", call: "GET /devices/{device.id}/schedule_publish" },
    ],
    call: "DELETE /device_schedule_publish?ids={page.first}",
    status: 204,
    answer: empty,
  },
]);
