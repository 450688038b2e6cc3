import { both, empty, holding, is, matching, nothing, page, pageOf } from "../form.js";
import { type Line, lines } from "../line.js";
import {
  connectLogA,
  connectLogB,
  controlLog,
  currentAlert,
  event,
  eventWithProduct,
  historyAlert,
  labelled,
} from "../records.js";

const connect = { A: page(connectLogA), B: page(connectLogB) };
const events = { A: page(event), B: page(eventWithProduct) };

function filters(path: string, answer: Line["answer"], some: readonly string[]): Line[] {
  return some.map((filter) => ({
    says: `${path}, filter ${filter}`,
    in: "AB",
    call: `GET /${path}?${filter}&_page=1&_limit=5`,
    status: 200,
    answer,
  }));
}

export const logLines = lines("Logs (account-wide)", [
  ...filters("device_connect_logs", connect, [
    ...["deviceName_like=BENCH", "deviceID_like=bench", "IP_like=127.0"],
  ]),
  {
    says: "connection logs that match nothing",
    in: "AB",
    call: "GET /device_connect_logs?deviceID_like=nosuch",
    status: 200,
    answer: pageOf(0),
  },
  {
    says: "labels of connections",
    in: "AB",
    call: "GET /device_connect_logs?deviceID_like=bench&_limit=1",
    status: 200,
    answer: {
      A: page(labelled("connectStatus", 0, "下线")),
      B: page(labelled("deviceStatus", 0, "下线")),
    },
  },
  ...filters("device_events", events, [
    ...["deviceName_like=BENCH", "deviceID_like=bench", "topic_like=dat"],
  ]),
  {
    says: "the payload is the text that was sent",
    in: "AB",
    call: "GET /device_events?deviceID_like=bench&_limit=1",
    status: 200,
    answer: page(holding({ payload: is('{"t":22,"h":50}'), updateAt: nothing })),
  },
  ...filters("device_control_logs", page(controlLog), ["deviceName_like=BENCH", "deviceID_like=bench"]),
  {
    says: "a command to a device that is not there",
    in: "AB",
    call: "GET /devices/{device.id}/control_logs?_limit=1",
    status: 200,
    answer: page(both(controlLog, labelled("publishStatus", 0, "下发失败"))),
  },
]);

/** The alerts are in the store: two current ones, two of the past; see the suite. */
export const alertLines = lines("Alerts", [
  {
    says: "page of current alerts",
    in: "AB",
    call: "GET /current_alerts?_page=1&_limit=5",
    status: 200,
    answer: page(both(currentAlert, labelled("alertSeverity", 1, "紧急"))),
  },
  {
    says: "page of history alerts",
    in: "AB",
    call: "GET /history_alerts?_page=1&_limit=5",
    status: 200,
    answer: page(both(historyAlert, holding({ endTime: matching(/^\d{4}-/) }))),
  },
  {
    says: "handle current alerts",
    in: "AB",
    call: "DELETE /current_alerts?ids={alerts.current}",
    status: 204,
    answer: empty,
  },
  {
    says: "what was handled is history",
    in: "AB",
    call: "GET /history_alerts/{alerts.current}",
    status: 200,
    answer: historyAlert,
  },
  {
    says: "delete history alerts",
    in: "AB",
    call: "DELETE /history_alerts?ids={alerts.past}",
    status: 204,
    answer: empty,
  },
]);
