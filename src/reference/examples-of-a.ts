import type { RecordedExamples } from "./recorded.js";

/** Recorded by the conformance run in Variant A (CONTRIBUTING.md, Test); not to be edited. */
export const examplesOfA: RecordedExamples = {
  "get /api/v1/alert_routes": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "boilers 307",
              enable: 1,
              severities: [1, 2],
              alertName: null,
              productIntID: 1,
              productName: "greenhouse",
              groupIntID: null,
              groupName: null,
              deviceIntID: null,
              deviceName: null,
              contactPoints: [
                {
                  id: 8,
                  name: "on call 306",
                },
              ],
              groupBy: ["alertName", "product"],
              wait: 30,
              groupInterval: 300,
              repeatInterval: 14400,
              sendResolved: 1,
              muteWindows: [
                {
                  days: [6, 7],
                  from: "22:00",
                  to: "06:00",
                },
              ],
              timezone: "Asia/Shanghai",
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/alert_routes/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          name: "boilers 309",
          enable: 1,
          severities: [1, 2],
          alertName: null,
          productIntID: 1,
          productName: "greenhouse",
          groupIntID: null,
          groupName: null,
          deviceIntID: null,
          deviceName: null,
          contactPoints: [
            {
              id: 9,
              name: "on call 308",
            },
          ],
          groupBy: ["alertName", "product"],
          wait: 30,
          groupInterval: 300,
          repeatInterval: 14400,
          sendResolved: 1,
          muteWindows: [
            {
              days: [6, 7],
              from: "22:00",
              to: "06:00",
            },
          ],
          timezone: "Asia/Shanghai",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /api/v1/alert_rules": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              alertName: "hot 293",
              alertContent: "warmer than 40 °C for a minute",
              alertSeverity: 2,
              alertSeverityLabel: "主要",
              productID: "k3Xb9Q",
              productIntID: 1,
              dataPointIntID: 1,
              dataPointName: "point t",
              condition: "dataPoint > 40",
              duration: 60,
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/alert_rules/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          alertName: "hot 294",
          alertContent: "warmer than 40 °C for a minute",
          alertSeverity: 2,
          alertSeverityLabel: "主要",
          productID: "k3Xb9Q",
          productIntID: 1,
          dataPointIntID: 1,
          dataPointName: "point t",
          condition: "dataPoint > 40",
          duration: 60,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /api/v1/api_keys": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "grafana",
              appID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              role: "viewer",
              userIntID: 1,
              username: "admin",
              expiresAt: null,
              createAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/api_keys/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          name: "grafana",
          appID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          role: "viewer",
          userIntID: 1,
          username: "admin",
          expiresAt: null,
          createAt: "2026-11-21 10:00:00",
        },
      },
    ],
  },
  "get /api/v1/app_templates": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              templateName: "lamp",
              templateType: 1,
              productID: "k3Xb9Q",
              productItemIntID: null,
              topic: "climate",
              dataPointIntID: 1,
              dataPointID: "t",
              dataStreamIntID: 3,
              dataTransType: 1,
              enum: null,
              places: [1, 2],
              defaultValues: [],
              instanceID: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              itemID: null,
              itemName: null,
              itemOperations: null,
              objectID: null,
              templateTypeLabel: "开关",
              dataPointName: "point t",
              dataStreamName: "climate",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/app_templates/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          templateName: "lamp",
          templateType: 1,
          productID: "k3Xb9Q",
          productItemIntID: null,
          topic: "climate",
          dataPointIntID: 1,
          dataPointID: "t",
          dataStreamIntID: 3,
          dataTransType: 1,
          enum: null,
          places: [1, 2],
          defaultValues: [],
          instanceID: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          itemID: null,
          itemName: null,
          itemOperations: null,
          objectID: null,
          templateTypeLabel: "开关",
          dataPointName: "point t",
          dataStreamName: "climate",
        },
      },
    ],
  },
  "get /api/v1/broker_info": {
    "200": [
      {
        form: null,
        value: {
          mqttBroker: "iot.example.com:1883",
          mqttsBroker: null,
          mqttssBroker: null,
          coapBroker: null,
          coapsBroker: null,
          coapssBroker: null,
          wsBroker: null,
          wssBroker: null,
        },
      },
    ],
  },
  "get /api/v1/certs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              name: "field",
              enable: 1,
              createAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/certs/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          name: "field",
          enable: 1,
          createAt: "2026-11-21 10:00:00",
          CN: "Cq8LZ0aT7:7hq2v0d3k5m8p1r4t6w9z2b5c8",
          cert: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          key: "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
          root: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          updateAt: null,
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/certs/{id}/devices": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              deviceTypeLabel: "终端",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/changes": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 211,
              at: "2026-11-21 10:00:00",
              userIntID: 1,
              username: "admin",
              action: "create",
              entity: "api_key",
              recordID: 3,
              detail: {
                userIntID: 1,
                name: "grafana",
                appID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
                role: "viewer",
                expiresAt: null,
              },
            },
          ],
          meta: {
            count: 209,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/contact_points": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "on call 299",
              type: "webhook",
              enable: 1,
              language: "en",
              settings: {
                contentType: "application/json",
                address: "https://hooks.example.com",
              },
              secrets: ["url", "secret"],
              subjectTemplate: null,
              bodyTemplate: null,
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/contact_points/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          name: "on call 300",
          type: "webhook",
          enable: 1,
          language: "en",
          settings: {
            contentType: "application/json",
            address: "https://hooks.example.com",
          },
          secrets: ["url", "secret"],
          subjectTemplate: null,
          bodyTemplate: null,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /api/v1/current_alerts": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              alertName: "point t故障",
              alertContent: "point t故障: E1",
              alertSeverity: 1,
              alertSeverityLabel: "紧急",
              alertTimes: 2,
              alertDetail: {
                t: 1,
              },
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              startTime: "2026-11-21 10:00:00",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/current_alerts/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 2,
          alertName: "point t故障",
          alertContent: "point t故障: E1",
          alertSeverity: 1,
          alertSeverityLabel: "紧急",
          alertTimes: 2,
          alertDetail: {
            t: 1,
          },
          deviceID: "bench-1",
          deviceName: "name of bench-1",
          startTime: "2026-11-21 10:00:00",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /api/v1/dashboards": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "greenhouse 317",
              description: "what the night shift watches",
              version: 1,
              createUser: "admin",
              updateUser: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/dashboards/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          name: "greenhouse 318",
          description: "what the night shift watches",
          version: 1,
          createUser: "admin",
          updateUser: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 30,
            panels: [
              {
                type: "chart",
                id: "climate",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                type: "text",
                id: "note",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
  },
  "get /api/v1/dashboards/{id}/revisions": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              version: 1,
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 1,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/dashboards/{id}/revisions/{version}": {
    "200": [
      {
        form: null,
        value: {
          version: 1,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 30,
            panels: [
              {
                type: "chart",
                id: "climate",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                type: "text",
                id: "note",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
  },
  "get /api/v1/dashboards/{id}/shares": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "the hall's screen",
              allowedOrigins: ["https://intranet.example.com"],
              expiresAt: "2026-11-21 10:00:00",
              version: "latest",
              enable: 1,
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              lastUsedAt: null,
            },
          ],
          meta: {
            count: 1,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/data_points": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              dataPointID: "h",
              dataPointName: "point h",
              productID: "k3Xb9Q",
              pointDataType: 1,
              dataTransType: 1,
              unitName: null,
              unitSymbol: null,
              upperLimit: null,
              lowerLimit: null,
              dataStep: null,
              binarySize: null,
              faultValue: null,
              isDiscard: null,
              enum: null,
              isLocationType: 0,
              locationType: null,
              registerAddr: null,
              detail: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              productName: "greenhouse",
              pointDataTypeLabel: "数值",
              dataTransTypeLabel: "只上报",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/data_points/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          dataPointID: "t",
          dataPointName: "point t",
          productID: "k3Xb9Q",
          pointDataType: 1,
          dataTransType: 1,
          unitName: "degree",
          unitSymbol: "°C",
          upperLimit: null,
          lowerLimit: null,
          dataStep: null,
          binarySize: null,
          faultValue: null,
          isDiscard: null,
          enum: null,
          isLocationType: 0,
          locationType: null,
          registerAddr: null,
          detail: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          productName: "greenhouse",
          pointDataTypeLabel: "数值",
          dataTransTypeLabel: "只上报",
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/data_streams": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              productName: "greenhouse",
              streamName: "climate",
              streamType: 1,
              streamTypeLabel: "设备数据上报",
              streamDataType: 1,
              streamDataTypeLabel: "JSON",
              topic: "climate",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/data_streams/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          productID: "k3Xb9Q",
          streamName: "climate",
          streamType: 1,
          streamDataType: 1,
          topic: "climate",
          dataPoints: [1, 2],
          detail: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          productName: "greenhouse",
          streamTypeLabel: "设备数据上报",
          streamDataTypeLabel: "JSON",
          dataPointNames: ["point t", "point h"],
        },
      },
    ],
  },
  "get /api/v1/data_streams/{id}/data_points": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              dataPointID: "t",
              dataPointName: "point t",
              productID: "k3Xb9Q",
              pointDataType: 1,
              dataTransType: 1,
              unitName: "kelvin",
              unitSymbol: "°C",
              upperLimit: null,
              lowerLimit: null,
              dataStep: null,
              binarySize: null,
              faultValue: null,
              isDiscard: null,
              enum: null,
              isLocationType: 0,
              locationType: null,
              registerAddr: null,
              detail: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: "2026-11-21 10:00:00",
              productName: "greenhouse",
              pointDataTypeLabel: "数值",
              dataTransTypeLabel: "只上报",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/device_connect_logs": {
    "200": [
      {
        form: "ConnectLog",
        value: {
          items: [
            {
              id: 8,
              deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              deviceName: "north",
              IP: "192.0.2.7",
              keepAlive: 60,
              tenantID: "Cq8LZ0aT7",
              connectStatus: 0,
              connectStatusLabel: "下线",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 4,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/device_consoles/{id}": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              templateName: "lamp",
              templateType: 1,
              productID: "k3Xb9Q",
              productItemIntID: null,
              topic: "climate",
              dataPointIntID: 1,
              dataPointID: "t",
              dataStreamIntID: 3,
              dataTransType: 1,
              enum: null,
              places: [1, 2],
              defaultValues: [],
              instanceID: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              templateTypeLabel: "开关",
              dataPointName: "point t",
              dataStreamName: "climate",
              value: "22",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/device_control_logs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              deviceIntID: 2,
              deviceName: "name of bench-1",
              topic: "inbox",
              payload: "on",
              publishStatus: 0,
              publishStatusLabel: "下发失败",
              publishUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 3,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/device_events": {
    "200": [
      {
        form: "Event",
        value: {
          items: [
            {
              id: 7,
              deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              deviceName: "north",
              IP: "192.0.2.7",
              topic: "data",
              payload: '{"t":22,"h":50}',
              msgTime: "2026-11-21 10:00:00",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 4,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/device_places": {
    "200": [
      {
        form: null,
        value: {
          clusters: [
            {
              longitude: 121.5,
              latitude: 31.2,
              count: 1,
              deviceIntID: 5,
              deviceName: "name of lonely-1",
              deviceStatus: 0,
              worstSeverity: null,
            },
          ],
          total: 1,
          isTruncated: false,
        },
      },
    ],
  },
  "get /api/v1/device_track": {
    "200": [
      {
        form: null,
        value: [],
      },
    ],
  },
  "get /api/v1/devices": {
    "200": [
      {
        form: "Device",
        value: {
          items: [
            {
              id: 2,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              authType: 1,
              blocked: 0,
              deviceStatus: 0,
              deviceType: 1,
              upLinkSystem: 1,
              gateway: null,
              parentDevice: null,
              productID: "k3Xb9Q",
              cloudProtocol: 1,
              modBusIndex: null,
              carrier: 1,
              physicalNetwork: 1,
              IMEI: null,
              IMSI: null,
              autoSub: null,
              manufacturer: null,
              serialNumber: "50",
              softVersion: null,
              hardwareVersion: null,
              description: null,
              deviceConsoleIP: null,
              deviceConsolePort: 22,
              deviceConsoleUsername: null,
              latitude: null,
              longitude: null,
              location: "row 1",
              lora: null,
              metaData: null,
              scopes: [],
              tenantID: "Cq8LZ0aT7",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              productIntID: 1,
              productName: "greenhouse",
              authTypeLabel: "Token",
              deviceStatusLabel: "离线",
              deviceTypeLabel: "终端",
              cloudProtocolLabel: "MQTT",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}": {
    "200": [
      {
        form: "DeviceDetail",
        value: {
          id: 2,
          deviceID: "bench-1",
          deviceName: "name of bench-1",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          deviceType: 1,
          upLinkSystem: 1,
          gateway: null,
          parentDevice: null,
          productID: "k3Xb9Q",
          cloudProtocol: 1,
          modBusIndex: null,
          carrier: 1,
          physicalNetwork: 1,
          IMEI: null,
          IMSI: null,
          autoSub: null,
          manufacturer: null,
          serialNumber: "50",
          softVersion: null,
          hardwareVersion: null,
          description: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          latitude: null,
          longitude: null,
          location: "row 1",
          lora: null,
          metaData: null,
          scopes: [],
          tenantID: "Cq8LZ0aT7",
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          productIntID: 1,
          productName: "greenhouse",
          authTypeLabel: "Token",
          deviceStatusLabel: "离线",
          deviceTypeLabel: "终端",
          cloudProtocolLabel: "MQTT",
          clientIP: null,
          connectedAt: null,
          keepAlive: null,
          createUser: "admin",
          gatewayName: null,
          parentDeviceName: null,
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/certs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 6,
              name: "cert-288",
              enable: 1,
              createAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/connect_logs": {
    "200": [
      {
        form: "ConnectLog",
        value: {
          items: [
            {
              id: 4,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              IP: "192.0.2.7",
              keepAlive: 60,
              tenantID: "Cq8LZ0aT7",
              connectStatus: 0,
              connectStatusLabel: "下线",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/control_logs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              deviceIntID: 2,
              deviceName: "name of bench-1",
              topic: "inbox",
              payload: "on",
              publishStatus: 0,
              publishStatusLabel: "下发失败",
              publishUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/events": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              IP: "192.0.2.7",
              topic: "data",
              payload: '{"t":22,"h":50}',
              msgTime: "2026-11-21 10:00:00",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/ingest_status": {
    "200": [
      {
        form: null,
        value: {
          messages: 4,
          points: 5,
          refused: {},
          lastAt: "2026-11-21 10:00:00",
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/policies": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 11,
              name: "policy-205",
              topic: "a/#",
              access: 0,
              allow: 0,
              description: "d",
              mqtt_acl: [
                {
                  id: 3,
                },
                {
                  id: 2,
                },
              ],
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              accessLabel: "发布",
              allowLabel: "拒绝",
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/schedule_publish": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              scheduleName: "s-83",
              scheduleType: 1,
              scheduleTypeLabel: "定时重复",
              IntervalMinute: 5,
              IntervalHour: null,
              IntervalWeek: null,
              crontabTime: null,
              crontab: null,
              nextAt: "2026-11-21 10:00:00",
              payload: "on",
              topic: "inbox",
              publishType: 0,
              deviceIntID: 2,
              deviceName: "name of bench-1",
              groupIntID: null,
              groupName: null,
              username: "admin",
              createUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/sessions": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              clientID: "http",
              protocol: "http",
              isConnected: true,
              IP: "192.0.2.7",
              connectedAt: "2026-11-21 10:00:00",
              keepAlive: 900,
              sessionExpiry: 7776000,
              subscriptionCount: 1,
              queuedMessages: 0,
              queuedBytes: 0,
              inflight: 0,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices/{id}/subscriptions": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              topic: "orders",
              qos: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/devices_export": {
    "202": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
  },
  "get /api/v1/fleet": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              productIntID: 1,
              productName: "greenhouse",
              isGateway: false,
              deviceStatus: 0,
              blocked: 0,
              lastSeen: "2026-11-21 10:00:00",
              currentAlerts: 1,
              worstSeverity: 1,
              values: [
                {
                  dataPointIntID: 1,
                  dataPointName: "point t",
                  unitSymbol: "°C",
                  value: 21.5,
                  time: "2026-11-21 10:00:00",
                },
                {
                  dataPointIntID: 2,
                  dataPointName: "point h",
                  unitSymbol: null,
                  value: 50,
                  time: "2026-11-21 10:00:00",
                },
              ],
            },
          ],
          next: null,
          count: 1,
          isCountBounded: false,
          facets: {
            deviceStatus: [
              {
                value: 0,
                count: 1,
              },
            ],
            products: [
              {
                productIntID: 1,
                productName: "greenhouse",
                count: 1,
              },
            ],
            blocked: 0,
            hasAlert: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/gateways": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              gatewayName: "north",
              deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              authType: 1,
              blocked: 0,
              deviceStatus: 0,
              gatewayProtocol: 1,
              upLinkNetwork: 4,
              upLinkNetworkLabel: "Wi-Fi",
              upLinkProtocol: 1,
              upLinkProtocolLabel: "MQTT",
              mac: "00:11:22:33:44:55",
              productID: "k3Xb9Q",
              productName: "greenhouse",
              manufacturer: null,
              serialNumber: "50",
              softVersion: null,
              hardwareVersion: null,
              description: null,
              location: null,
              deviceConsoleIP: null,
              deviceConsolePort: 22,
              deviceConsoleUsername: null,
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              authTypeLabel: "Token",
              deviceStatusLabel: "离线",
              gatewayProtocolLabel: "MQTT",
              deviceCount: 1,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/gateways/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          gatewayName: "north",
          deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          gatewayProtocol: 1,
          upLinkNetwork: 4,
          upLinkNetworkLabel: "Wi-Fi",
          upLinkProtocol: 1,
          upLinkProtocolLabel: "MQTT",
          mac: "00:11:22:33:44:55",
          productID: "k3Xb9Q",
          productName: "greenhouse",
          manufacturer: null,
          serialNumber: "50",
          softVersion: null,
          hardwareVersion: null,
          description: null,
          location: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          authTypeLabel: "Token",
          deviceStatusLabel: "离线",
          gatewayProtocolLabel: "MQTT",
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/gateways/{id}/control_logs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              deviceIntID: 1,
              payload: {
                channel: [],
                func: 1,
                kbid: "k",
                message: [],
                object: [],
              },
              createUser: "admin",
              topic: "inbox",
              publishStatus: 0,
              publishStatusLabel: "下发失败",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 1,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/gateways/{id}/devices_data": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              deviceIntID: 24,
              deviceID: "0011aa01",
              deviceName: "name of 0011aa01",
              data: [],
            },
          ],
          meta: {
            count: 3,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/gateways/{id}/events": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 7,
              deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              gatewayName: "north",
              IP: "192.0.2.7",
              topic: "data",
              payload: '{"t":22,"h":50}',
              msgTime: "2026-11-21 10:00:00",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/groups": {
    "200": [
      {
        form: "Group",
        value: {
          items: [
            {
              id: 1,
              groupID: "w7Hn2c",
              groupName: "east",
              description: "wing",
              productID: "k3Xb9Q",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              productName: "greenhouse",
              deviceCount: 1,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/groups/{id}": {
    "200": [
      {
        form: "GroupDetail",
        value: {
          id: 1,
          groupID: "w7Hn2c",
          groupName: "east",
          description: "wing",
          productID: "k3Xb9Q",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          productName: "greenhouse",
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/groups/{id}/control_logs": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              groupID: "w7Hn2c",
              groupName: "east",
              topic: "inbox",
              payload: "on",
              publishStatus: 0,
              publishStatusLabel: "下发失败",
              publishUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/groups/{id}/devices": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
              authType: 1,
              blocked: 0,
              productID: "k3Xb9Q",
              deviceType: 0,
              status: 0,
              manufacturer: null,
              serialNumber: "50",
              softVersion: null,
              hardwareVersion: null,
              description: null,
              location: "row 1",
              tenantID: "Cq8LZ0aT7",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              productName: "greenhouse",
              deviceTypeLabel: "终端",
              statusLabel: "离线",
            },
          ],
          meta: {
            count: 1,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/groups/{id}/schedule_publish": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 4,
              scheduleName: "s-92",
              scheduleType: 0,
              scheduleTypeLabel: "定时不重复",
              IntervalMinute: null,
              IntervalHour: null,
              IntervalWeek: null,
              crontabTime: "2099-01-01 00:00:00",
              crontab: null,
              nextAt: "2026-11-21 10:00:00",
              payload: "on",
              topic: "inbox",
              publishType: 1,
              deviceIntID: null,
              deviceName: null,
              groupIntID: 1,
              groupName: "east",
              username: "admin",
              createUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/groups/{id}/subscriptions": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              topic: "news/289",
              qos: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/history_alerts": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 4,
              alertName: "point t故障",
              alertContent: "point t故障: E1",
              alertSeverity: 1,
              alertSeverityLabel: "紧急",
              alertTimes: 2,
              alertDetail: {
                t: 1,
              },
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              startTime: "2026-11-21 10:00:00",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              endTime: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/history_alerts/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          alertName: "point t故障",
          alertContent: "point t故障: E1",
          alertSeverity: 1,
          alertSeverityLabel: "紧急",
          alertTimes: 2,
          alertDetail: {
            t: 1,
          },
          deviceID: "bench-1",
          deviceName: "name of bench-1",
          startTime: "2026-11-21 10:00:00",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          endTime: "2026-11-21 10:00:00",
        },
      },
    ],
  },
  "get /api/v1/me": {
    "200": [
      {
        form: null,
        value: {
          userIntID: 1,
          username: "admin",
          tenantID: "Cq8LZ0aT7",
          role: "admin",
          version: "0.1.0",
          rights: ["read", "write", "command", "admin"],
          isDeployment: true,
          timezone: "UTC",
          variant: "A",
          mapTiles: null,
        },
      },
    ],
  },
  "get /api/v1/metrics": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              metricName: "mean",
              metricType: 2,
              metricTypeLabel: "聚合指标",
              dataPointName: "point t",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/metrics/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          metricName: "metric-184",
          metricType: 2,
          dataPointIntID: 1,
          aggregateType: 1,
          aggregateData: 1,
          chartType: 2,
          expressions: "dataPoint * 2",
          isShow: 0,
          productID: "k3Xb9Q",
          productItemIntID: null,
          remark: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          metricTypeLabel: "聚合指标",
          dataPointName: "point t",
          aggregateTypeLabel: "最大值",
          aggregateDataLabel: "公式值",
          chartTypeLabel: "柱状图",
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/metrics_data": {
    "200": [
      {
        form: null,
        value: [
          {
            id: 2,
            metricName: "mean",
            metricType: 2,
            dataPointIntID: 1,
            aggregateType: 3,
            aggregateData: 2,
            chartType: 1,
            expressions: null,
            isShow: 1,
            productID: "k3Xb9Q",
            productItemIntID: null,
            remark: null,
            createAt: "2026-11-21 10:00:00",
            updateAt: null,
            dataPointName: "point t",
            metricData: {
              time: [
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
                "2026-11-21 10:00:00",
              ],
              value: [
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                21,
              ],
            },
          },
        ],
      },
    ],
  },
  "get /api/v1/notifications": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              contactPointIntID: 12,
              contactPointName: "siren 314",
              type: "mqtt",
              routeIntID: null,
              routeName: null,
              kind: "test",
              alertCount: 1,
              status: "failed",
              attempts: 1,
              answer: "the device is not subscribed to the topic, or may not be",
              nextAt: null,
              deliveredAt: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/notifications/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          contactPointIntID: 13,
          contactPointName: "siren 315",
          type: "mqtt",
          routeIntID: null,
          routeName: null,
          kind: "test",
          alertCount: 1,
          status: "failed",
          attempts: 1,
          answer: "the device is not subscribed to the topic, or may not be",
          nextAt: null,
          deliveredAt: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
          message: {
            kind: "test",
            route: {
              id: 0,
              name: "test",
            },
            timezone: "UTC",
            began: 1,
            ended: 0,
            firing: 1,
            alerts: [
              {
                id: 1,
                cause: "rule:1",
                alertName: "高温 High temperature",
                alertContent: "temperature > 40",
                alertSeverity: 2,
                startTime: 1795255200000,
                deviceIntID: 1,
                deviceID: "boiler-7",
                deviceName: "Boiler 7",
                productIntID: 1,
                productName: "Boilers",
                status: "firing",
                isNew: true,
                endTime: null,
              },
            ],
            more: 0,
          },
        },
      },
    ],
  },
  "get /api/v1/original_data": {
    "200": [
      {
        form: null,
        value: [
          {
            dataPointIntID: 1,
            dataPointName: "point t",
            originalData: {
              time: ["2026-11-21 10:00:00", "2026-11-21 10:00:00"],
              value: [20, 22],
            },
          },
        ],
      },
    ],
  },
  "get /api/v1/overview": {
    "200": [
      {
        form: null,
        value: {
          devices: {
            total: 36,
            online: 0,
            sleeping: 0,
            offline: 36,
            blocked: 2,
          },
          gateways: 22,
          products: 14,
          groups: 7,
          currentAlerts: {
            total: 1,
            bySeverity: [
              {
                alertSeverity: 1,
                count: 1,
              },
            ],
          },
          rates: {
            endTime: 1795255200000,
            intervalMs: 1000,
            messages: [4, 0, 0, 0],
            points: [6, 0, 0, 0],
          },
          refused: [],
          lag: {
            messages: 0,
            seconds: 0,
          },
          commit: {
            p50Ms: 0.531,
            p99Ms: 2.543,
          },
          disk: {
            freeBytes: 78347964416,
            isFull: false,
          },
          deployment: {
            rates: {
              endTime: 1795255200000,
              intervalMs: 1000,
              messages: [4, 0, 0, 0],
              points: [6, 0, 0, 0],
            },
            refused: [],
            connections: 0,
            eventLoopDelayP99Ms: 18.219007,
            degraded: {},
            version: "0.1.0",
            engine: "embedded",
            timezones: {
              version: "2026f",
              source: "built-in",
              warning: null,
            },
            startedAt: "2026-11-21 10:00:00",
          },
        },
      },
    ],
  },
  "get /api/v1/platform_select/certs/{id}/not_joined_devices": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 61,
              deviceName: "name of code-278",
              productName: "greenhouse",
            },
          ],
          meta: {
            count: 57,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/platform_select/data_points": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "renamed-168",
            value: 29,
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/data_streams": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "renamed-181",
            value: 34,
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/devices": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "name of code-278",
            value: "code-279",
            attr: {
              deviceIntID: 61,
            },
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/devices/{id}/not_joined_certs": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "cert-288",
            value: 6,
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/devices/{id}/not_joined_policies": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 12,
              name: "policy-206",
              topic: "a/#",
              access: 0,
              allow: 0,
              description: "d",
              mqtt_acl: [],
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              accessLabel: "发布",
              allowLabel: "拒绝",
            },
          ],
          meta: {
            count: 10,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/platform_select/dict_code": {
    "200": [
      {
        form: "DictCode",
        value: {
          cloudProtocol: [
            {
              label: "MQTT",
              value: 1,
            },
            {
              label: "CoAP",
              value: 2,
            },
            {
              label: "LwM2M",
              value: 3,
            },
            {
              label: "LoRa",
              value: 4,
            },
            {
              label: "HTTP",
              value: 5,
            },
            {
              label: "WebSocket",
              value: 6,
            },
            {
              label: "Modbus",
              value: 7,
            },
          ],
          gatewayProtocol: [
            {
              label: "MQTT",
              value: 1,
            },
            {
              label: "CoAP",
              value: 2,
            },
            {
              label: "LwM2M",
              value: 3,
            },
            {
              label: "LoRa",
              value: 4,
            },
            {
              label: "HTTP",
              value: 5,
            },
            {
              label: "WebSocket",
              value: 6,
            },
            {
              label: "Modbus",
              value: 7,
            },
          ],
          upLinkProtocol: [
            {
              label: "MQTT",
              value: 1,
            },
            {
              label: "CoAP",
              value: 2,
            },
            {
              label: "LwM2M",
              value: 3,
            },
            {
              label: "LoRa",
              value: 4,
            },
            {
              label: "HTTP",
              value: 5,
            },
            {
              label: "WebSocket",
              value: 6,
            },
            {
              label: "Modbus",
              value: 7,
            },
          ],
          authType: [
            {
              label: "Token",
              value: 1,
            },
            {
              label: "证书",
              value: 2,
            },
          ],
          deviceStatus: [
            {
              label: "离线",
              value: 0,
            },
            {
              label: "在线",
              value: 1,
            },
            {
              label: "休眠",
              value: 2,
            },
          ],
          connectStatus: [
            {
              label: "下线",
              value: 0,
            },
            {
              label: "上线",
              value: 1,
            },
            {
              label: "认证失败",
              value: 2,
            },
          ],
          deviceType: [
            {
              label: "终端",
              value: 1,
            },
            {
              label: "智能手机",
              value: 3,
            },
          ],
          carrier: [
            {
              label: "中国电信",
              value: 1,
            },
            {
              label: "中国移动",
              value: 2,
            },
            {
              label: "中国联通",
              value: 3,
            },
            {
              label: "其他",
              value: 4,
            },
          ],
          physicalNetwork: [
            {
              label: "WIFI",
              value: 1,
            },
            {
              label: "2G",
              value: 2,
            },
            {
              label: "3G",
              value: 3,
            },
            {
              label: "4G",
              value: 4,
            },
            {
              label: "NB-IOT",
              value: 5,
            },
            {
              label: "BlueTooth",
              value: 6,
            },
          ],
          upLinkNetwork: [
            {
              label: "2G",
              value: 1,
            },
            {
              label: "3G",
              value: 2,
            },
            {
              label: "4G",
              value: 3,
            },
            {
              label: "Wi-Fi",
              value: 4,
            },
            {
              label: "NB-IoT",
              value: 5,
            },
          ],
          publishStatus: [
            {
              label: "下发失败",
              value: 0,
            },
            {
              label: "已下发",
              value: 1,
            },
            {
              label: "已到达",
              value: 2,
            },
            {
              label: "不需要回执",
              value: 3,
            },
          ],
          pointDataType: [
            {
              label: "数值",
              value: 1,
            },
            {
              label: "字符串",
              value: 3,
            },
            {
              label: "故障",
              value: 4,
            },
            {
              label: "布尔",
              value: 5,
            },
            {
              label: "地理位置",
              value: 6,
            },
            {
              label: "定长字符串",
              value: 11,
            },
            {
              label: "变长字符串",
              value: 12,
            },
            {
              label: "定长binary",
              value: 13,
            },
            {
              label: "变长binary",
              value: 14,
            },
            {
              label: "有符号整型",
              value: 15,
            },
            {
              label: "无符号整型",
              value: 16,
            },
            {
              label: "单精度浮点型",
              value: 17,
            },
            {
              label: "双精度浮点型",
              value: 18,
            },
            {
              label: "bit类型",
              value: 19,
            },
            {
              label: "有符号长整型",
              value: 21,
            },
            {
              label: "无符号长整型",
              value: 22,
            },
            {
              label: "布尔",
              value: 23,
            },
            {
              label: "时间",
              value: 24,
            },
            {
              label: "浮点",
              value: 25,
            },
          ],
          dataTransType: [
            {
              label: "只上报",
              value: 1,
            },
            {
              label: "只下发",
              value: 2,
            },
            {
              label: "可上报可下发",
              value: 3,
            },
          ],
          streamType: [
            {
              label: "设备数据上报",
              value: 1,
            },
            {
              label: "设备数据下发",
              value: 2,
            },
            {
              label: "网关数据上报",
              value: 3,
            },
            {
              label: "网关数据下发",
              value: 4,
            },
          ],
          streamDataType: [
            {
              label: "JSON",
              value: 1,
            },
            {
              label: "二进制",
              value: 2,
            },
          ],
          metricType: [
            {
              label: "公式指标",
              value: 1,
            },
            {
              label: "聚合指标",
              value: 2,
            },
          ],
          aggregateType: [
            {
              label: "最大值",
              value: 1,
            },
            {
              label: "最小值",
              value: 2,
            },
            {
              label: "平均值",
              value: 3,
            },
            {
              label: "累计值",
              value: 4,
            },
            {
              label: "增量",
              value: 5,
            },
            {
              label: "首值",
              value: 6,
            },
            {
              label: "末值",
              value: 7,
            },
            {
              label: "计数",
              value: 8,
            },
          ],
          aggregateData: [
            {
              label: "公式值",
              value: 1,
            },
            {
              label: "原始值",
              value: 2,
            },
          ],
          chartType: [
            {
              label: "折线图",
              value: 1,
            },
            {
              label: "柱状图",
              value: 2,
            },
          ],
          alertSeverity: [
            {
              label: "紧急",
              value: 1,
            },
            {
              label: "主要",
              value: 2,
            },
            {
              label: "次要",
              value: 3,
            },
            {
              label: "警告",
              value: 4,
            },
          ],
          templateType: [
            {
              label: "开关",
              value: 1,
            },
            {
              label: "枚举",
              value: 2,
            },
            {
              label: "数值",
              value: 3,
            },
            {
              label: "字符串",
              value: 4,
            },
            {
              label: "布尔",
              value: 5,
            },
            {
              label: "时间",
              value: 6,
            },
          ],
          scheduleType: [
            {
              label: "定时不重复",
              value: 0,
            },
            {
              label: "定时重复",
              value: 1,
            },
            {
              label: "已完成",
              value: 2,
            },
          ],
          access: [
            {
              label: "发布",
              value: 0,
            },
            {
              label: "订阅",
              value: 1,
            },
            {
              label: "发布和订阅",
              value: 2,
            },
          ],
          allow: [
            {
              label: "拒绝",
              value: 0,
            },
            {
              label: "允许",
              value: 1,
            },
          ],
          scopeType: [
            {
              label: "活动区域",
              value: 1,
            },
            {
              label: "禁止区域",
              value: 2,
            },
          ],
          "lora.fcntCheck": [
            {
              label: "Strict 16-bit",
              value: 0,
            },
            {
              label: "Strict 32-bit",
              value: 1,
            },
            {
              label: "Reset on zero",
              value: 2,
            },
            {
              label: "Disabled",
              value: 3,
            },
          ],
          codeValue: [
            {
              label: "序列号",
              value: "serialNumber",
            },
            {
              label: "软件版本",
              value: "softVersion",
            },
            {
              label: "硬件版本",
              value: "hardwareVersion",
            },
            {
              label: "制造商",
              value: "manufacturer",
            },
          ],
          "lora.region": [
            {
              label: "EU863-870",
              value: "EU863-870",
            },
            {
              label: "US902-928",
              value: "US902-928",
            },
            {
              label: "US902-928-PR",
              value: "US902-928-PR",
            },
            {
              label: "CN779-787",
              value: "CN779-787",
            },
            {
              label: "EU433",
              value: "EU433",
            },
            {
              label: "AU915-928",
              value: "AU915-928",
            },
            {
              label: "CN470-510",
              value: "CN470-510",
            },
            {
              label: "KR920-923",
              value: "KR920-923",
            },
          ],
        },
      },
    ],
  },
  "get /api/v1/platform_select/groups/{id}/not_joined_devices": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "imported",
            value: 25,
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/metric_data_points": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "renamed-168",
            value: 29,
          },
        ],
      },
    ],
  },
  "get /api/v1/platform_select/policies/{id}/not_joined_devices": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 5,
              deviceName: "name of lonely-1",
              productName: "greenhouse",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/platform_select/products": {
    "200": [
      {
        form: null,
        value: [
          {
            label: "code-217",
            value: "jNmWVw",
            attr: {
              cloudProtocol: 7,
              productIntID: 16,
            },
          },
        ],
      },
    ],
  },
  "get /api/v1/policies": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              name: "spare",
              topic: "#",
              access: 0,
              allow: 1,
              description: null,
              mqtt_acl: [],
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              accessLabel: "发布",
              allowLabel: "允许",
            },
          ],
          meta: {
            count: 2,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/policies/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          name: "up",
          topic: "#",
          access: 2,
          allow: 1,
          description: "all",
          mqtt_acl: [
            {
              id: 1,
            },
          ],
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          accessLabel: "发布和订阅",
          allowLabel: "允许",
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/policies/{id}/devices": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              deviceID: "bench-1",
              deviceName: "name of bench-1",
              deviceTypeLabel: "终端",
            },
          ],
          meta: {
            count: 1,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/product_resources": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 1,
              codeValue: "serialNumber",
              dataPointIntID: 2,
              productItemIntID: null,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              codeValueLabel: "序列号",
              dataPointName: "point h",
              itemName: null,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/products": {
    "200": [
      {
        form: "Product",
        value: {
          items: [
            {
              id: 1,
              productID: "k3Xb9Q",
              productName: "greenhouse",
              description: "glass",
              cloudProtocol: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              cloudProtocolLabel: "MQTT",
              deviceCount: 13,
              appCount: 1,
              dataPointCount: 2,
              dataStreamCount: 1,
              itemCount: null,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/products/{id}": {
    "200": [
      {
        form: "ProductDetail",
        value: {
          id: 1,
          productID: "k3Xb9Q",
          productName: "greenhouse",
          description: "glass",
          cloudProtocol: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          cloudProtocolLabel: "MQTT",
          deviceCount: 13,
          createUser: "admin",
        },
      },
    ],
  },
  "get /api/v1/products/{id}/subscriptions": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 4,
              topic: "news/290",
              qos: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/schedule_publish": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 5,
              scheduleName: "s-291",
              scheduleType: 1,
              scheduleTypeLabel: "定时重复",
              IntervalMinute: 60,
              IntervalHour: null,
              IntervalWeek: null,
              crontabTime: null,
              crontab: null,
              nextAt: "2026-11-21 10:00:00",
              payload: "on",
              topic: "inbox",
              publishType: 0,
              deviceIntID: 2,
              deviceName: "name of bench-1",
              groupIntID: null,
              groupName: null,
              username: "admin",
              createUser: "admin",
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 3,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/search": {
    "200": [
      {
        form: null,
        value: [
          {
            type: "device",
            id: 2,
            name: "name of bench-1",
            detail: "bench-1 · greenhouse",
          },
        ],
      },
    ],
  },
  "get /api/v1/shared": {
    "200": [
      {
        form: null,
        value: {
          name: "greenhouse 326",
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 30,
            panels: [
              {
                type: "chart",
                id: "climate",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                type: "text",
                id: "note",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
          allowedOrigins: ["https://intranet.example.com"],
          timezone: "UTC",
          zone: {
            name: "UTC",
            offset: 0,
            changes: [],
          },
        },
      },
    ],
  },
  "get /api/v1/shared/panels/{panelID}/data": {
    "200": [
      {
        form: "",
        value: {
          type: "chart",
          startTime: "2026-11-21 10:00:00",
          endTime: "2026-11-21 10:00:00",
          series: [
            [
              {
                dataPointIntID: 1,
                dataPointName: "point t",
                originalData: {
                  time: [
                    "2026-11-21 10:00:00",
                    "2026-11-21 10:00:00",
                    "2026-11-21 10:00:00",
                    "2026-11-21 10:00:00",
                  ],
                  value: [20, 22, 21.5, 21.5],
                },
              },
            ],
            [
              {
                dataPointIntID: 2,
                dataPointName: "point h",
                originalData: {
                  time: ["2026-11-21 10:00:00"],
                  value: [50],
                },
              },
            ],
          ],
          points: [
            {
              dataPointName: "point t",
              unitSymbol: "°C",
              lowerLimit: null,
              upperLimit: null,
            },
            {
              dataPointName: "point h",
              unitSymbol: null,
              lowerLimit: null,
              upperLimit: null,
            },
          ],
        },
      },
    ],
  },
  "get /api/v1/silences": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 2,
              severities: null,
              alertName: null,
              productIntID: null,
              productName: null,
              groupIntID: null,
              groupName: null,
              deviceIntID: 2,
              deviceName: "name of bench-1",
              startTime: "2026-11-21 10:00:00",
              endTime: "2026-11-21 10:00:00",
              comment: "repair",
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/silences/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          severities: null,
          alertName: null,
          productIntID: null,
          productName: null,
          groupIntID: null,
          groupName: null,
          deviceIntID: 2,
          deviceName: "name of bench-1",
          startTime: "2026-11-21 10:00:00",
          endTime: "2026-11-21 10:00:00",
          comment: "repair",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /api/v1/task_status/{id}": {
    "200": [
      {
        form: null,
        value: {
          state: "PENDING",
          current: 0,
          msg: null,
          excelPath: null,
        },
      },
    ],
  },
  "get /api/v1/tasks": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              taskID: "0123456789abcdef0123456789abcdef",
              statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
              kind: "redecode",
              state: "PENDING",
              current: 0,
              msg: null,
              createUser: "admin",
              createAt: "2026-11-21 10:00:00",
              endAt: null,
            },
          ],
          meta: {
            count: 2,
            limit: 1,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/tenants": {
    "200": [
      {
        form: null,
        value: [
          {
            id: 1,
            tenantID: "Cq8LZ0aT7",
            tenantName: "default",
            createAt: "2026-11-21 10:00:00",
          },
        ],
      },
    ],
  },
  "get /api/v1/time": {
    "200": [
      {
        form: null,
        value: {
          time: 1795255200000,
          text: "2026-11-21 10:00:00",
          timezone: "UTC",
        },
      },
    ],
  },
  "get /api/v1/timezones": {
    "200": [
      {
        form: null,
        value: {
          version: "2026f",
          source: "built-in",
          items: ["Universal"],
        },
      },
    ],
  },
  "get /api/v1/timezones/{name}": {
    "200": [
      {
        form: null,
        value: {
          name: "Asia/Kathmandu",
          offset: 20476,
          changes: [
            {
              time: -1577943676000,
              offset: 19800,
            },
            {
              time: 504901800000,
              offset: 20700,
            },
          ],
          version: "2026f",
        },
      },
    ],
  },
  "get /api/v1/users": {
    "200": [
      {
        form: null,
        value: {
          items: [
            {
              id: 3,
              username: "user-281",
              role: "operator",
              tenantID: "Cq8LZ0aT7",
              createAt: "2026-11-21 10:00:00",
              updateAt: "2026-11-21 10:00:00",
            },
          ],
          meta: {
            count: 3,
            limit: 5,
            page: 1,
          },
        },
      },
    ],
  },
  "get /api/v1/users/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 5,
          username: "user-283",
          role: "operator",
          tenantID: "Cq8LZ0aT7",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
  },
  "get /healthz": {
    "200": [
      {
        form: null,
        value: {
          status: "ok",
          version: "0.1.0",
          commit: "4f6c0b7d2a91e83c5d0f1a2b3c4d5e6f70819203",
          engine: "embedded",
          timezones: {
            version: "2026f",
            source: "built-in",
            warning: null,
          },
        },
      },
    ],
  },
  "get /readyz": {
    "200": [
      {
        form: null,
        value: {
          status: "ok",
          degraded: {},
        },
      },
    ],
  },
  "get /task_status/{id}": {
    "200": [
      {
        form: null,
        value: {
          state: "STARTED",
          current: 0,
          msg: null,
          excelPath: null,
        },
      },
    ],
  },
  "post /api/v1/alert_routes": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "boilers 305",
          enable: 1,
          severities: [1, 2],
          alertName: null,
          productIntID: 1,
          productName: "greenhouse",
          groupIntID: null,
          groupName: null,
          deviceIntID: null,
          deviceName: null,
          contactPoints: [
            {
              id: 7,
              name: "on call 304",
            },
          ],
          groupBy: ["alertName", "product"],
          wait: 30,
          groupInterval: 300,
          repeatInterval: 14400,
          sendResolved: 1,
          muteWindows: [
            {
              days: [6, 7],
              from: "22:00",
              to: "06:00",
            },
          ],
          timezone: "Asia/Shanghai",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "boilers 305",
          contactPoints: [7],
          severities: [1, 2],
          productIntID: 1,
          groupBy: ["alertName", "product"],
          wait: 30,
          muteWindows: [
            {
              days: [6, 7],
              from: "22:00",
              to: "06:00",
            },
          ],
          timezone: "Asia/Shanghai",
        },
      },
    ],
  },
  "post /api/v1/alert_rules": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          alertName: "hot 292",
          alertContent: "warmer than 40 °C for a minute",
          alertSeverity: 2,
          alertSeverityLabel: "主要",
          productID: "k3Xb9Q",
          productIntID: 1,
          dataPointIntID: 1,
          dataPointName: "point t",
          condition: "dataPoint > 40",
          duration: 60,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          alertName: "hot 292",
          alertContent: "warmer than 40 °C for a minute",
          alertSeverity: 2,
          productID: "k3Xb9Q",
          dataPointIntID: 1,
          condition: "dataPoint > 40",
          duration: 60,
        },
      },
    ],
  },
  "post /api/v1/alert_rules/preview": {
    "200": [
      {
        form: null,
        value: {
          spans: [
            {
              startTime: "2026-11-21 10:00:00",
              endTime: "2026-11-21 10:00:00",
              alertTimes: 1,
              firstValue: 21.5,
            },
            {
              startTime: "2026-11-21 10:00:00",
              endTime: null,
              alertTimes: 3,
              firstValue: 22,
            },
          ],
          points: 5,
          isTruncated: false,
          leftFrom: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          dataPointIntID: 1,
          condition: "dataPoint > 20",
          duration: 0,
          deviceID: "bench-1",
          startTime: "2026-01-01 00:00:00",
        },
      },
    ],
  },
  "post /api/v1/api_keys": {
    "201": [
      {
        form: null,
        value: {
          id: 2,
          name: "grafana",
          appID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          role: "viewer",
          userIntID: 1,
          username: "admin",
          expiresAt: null,
          createAt: "2026-11-21 10:00:00",
          appSecret: "Jx0…",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "grafana",
          role: "viewer",
        },
      },
    ],
  },
  "post /api/v1/app_templates": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          templateName: "lamp",
          templateType: 1,
          productID: "k3Xb9Q",
          productItemIntID: null,
          topic: "climate",
          dataPointIntID: 1,
          dataPointID: "t",
          dataStreamIntID: 3,
          dataTransType: 1,
          enum: null,
          places: [1, 2],
          defaultValues: [],
          instanceID: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          itemID: null,
          itemName: null,
          itemOperations: null,
          objectID: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          templateName: "lamp",
          templateType: 1,
          productIntID: 1,
          dataPointIntID: 1,
          dataStreamIntID: 3,
          places: [1, 2],
        },
      },
    ],
  },
  "post /api/v1/backup_hold": {
    "200": [
      {
        form: null,
        value: {
          journalID: 8,
          journalIDs: [8],
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          seconds: 0,
        },
      },
    ],
  },
  "post /api/v1/broker/acl": {
    "200": [
      {
        form: null,
        value: {
          result: "allow",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          username: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          action: "publish",
          topic: "devices/bench-1/up/climate",
        },
      },
    ],
  },
  "post /api/v1/broker/auth": {
    "200": [
      {
        form: null,
        value: {
          result: "allow",
          is_superuser: false,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          username: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          password: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          clientid: "gh-1",
          peerhost: "192.0.2.7",
        },
      },
    ],
  },
  "post /api/v1/certs": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "field",
          enable: 1,
          createAt: "2026-11-21 10:00:00",
          CN: "Cq8LZ0aT7:7hq2v0d3k5m8p1r4t6w9z2b5c8",
          cert: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          key: "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
          root: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          updateAt: null,
          createUser: "admin",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "field",
          enable: 1,
        },
      },
    ],
  },
  "post /api/v1/contact_points": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "on call 298",
          type: "webhook",
          enable: 1,
          language: "en",
          settings: {
            contentType: "application/json",
            address: "https://hooks.example.com",
          },
          secrets: ["url", "secret"],
          subjectTemplate: null,
          bodyTemplate: null,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "on call 298",
          type: "webhook",
          language: "en",
          settings: {
            url: "https://hooks.example.com/T024BE91L/B8E",
            secret: "whsec_dGhpcyBpcyBhIHNlY3JldCBvZiAyNCBi",
          },
        },
      },
    ],
  },
  "post /api/v1/contact_points/preview": {
    "200": [
      {
        form: null,
        value: {
          subject: "[Alert] 高温 High temperature: Boiler 7 (+1)",
          body: "1 firing: Boiler 7",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          type: "email",
          language: "en",
          bodyTemplate: "{{ firing }} firing: {{ alerts[0].deviceName }}",
        },
      },
    ],
  },
  "post /api/v1/contact_points/{id}/test": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          delivered: false,
          answer: "the device is not subscribed to the topic, or may not be",
        },
      },
    ],
  },
  "post /api/v1/dashboards": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "greenhouse 316",
          description: "what the night shift watches",
          version: 1,
          createUser: "admin",
          updateUser: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 30,
            panels: [
              {
                type: "chart",
                id: "climate",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                type: "text",
                id: "note",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "greenhouse 316",
          description: "what the night shift watches",
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 30,
            panels: [
              {
                id: "climate",
                type: "chart",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                id: "note",
                type: "text",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
  },
  "post /api/v1/dashboards/{id}/shares": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "the hall's screen",
          allowedOrigins: ["https://intranet.example.com"],
          expiresAt: "2026-11-21 10:00:00",
          version: "latest",
          enable: 1,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          lastUsedAt: null,
          token: "Jx0…",
          path: "/console/shared/dGhl…#Jx0…",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "the hall's screen",
          allowedOrigins: ["https://intranet.example.com"],
          expiresAt: "2026-11-21 10:00:00",
        },
      },
    ],
  },
  "post /api/v1/data_points": {
    "201": [
      {
        form: "DataPointStored",
        value: {
          id: 4,
          dataPointID: "p105",
          dataPointName: "point-104",
          productID: "k3Xb9Q",
          pointDataType: 1,
          dataTransType: 1,
          unitName: "u",
          unitSymbol: "v",
          upperLimit: 40.5,
          lowerLimit: -5,
          dataStep: 0.5,
          binarySize: null,
          faultValue: null,
          isDiscard: null,
          enum: null,
          isLocationType: 0,
          locationType: null,
          registerAddr: null,
          detail: "remark",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
      {
        form: "DataStreamStored",
        value: {
          id: 31,
          productID: "k3Xb9Q",
          streamName: "stream-171",
          streamType: 1,
          streamDataType: 1,
          topic: "topic-172",
          dataPoints: [1],
          detail: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: "DataPointCreate",
        value: {
          productIntID: 1,
          dataPointID: "t",
          dataPointName: "point t",
          pointDataType: 1,
          dataTransType: 1,
          unitName: "degree",
          unitSymbol: "°C",
        },
      },
      {
        form: "DataStreamCreate",
        value: {
          productIntID: 1,
          streamName: "stream-171",
          topic: "topic-172",
          streamType: 1,
          streamDataType: 1,
          dataPoints: [1],
        },
      },
    ],
  },
  "post /api/v1/data_streams": {
    "201": [
      {
        form: null,
        value: {
          id: 3,
          productID: "k3Xb9Q",
          streamName: "climate",
          streamType: 1,
          streamDataType: 1,
          topic: "climate",
          dataPoints: [1, 2],
          detail: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          productIntID: 1,
          streamName: "climate",
          streamType: 1,
          streamDataType: 1,
          topic: "climate",
          dataPoints: [1, 2],
        },
      },
    ],
  },
  "post /api/v1/device_publish": {
    "201": [
      {
        form: null,
        value: {
          publishStatus: "failed",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          payload: '{"channel":[],"func":1,"kbid":"k","message":[],"object":[]}',
          topic: "inbox",
        },
      },
    ],
  },
  "post /api/v1/device_schedule_publish": {
    request: [
      {
        form: null,
        value: {
          deviceID: "bench-1",
          payload: "on",
          scheduleName: "s-291",
          scheduleType: 1,
          IntervalMinute: 60,
        },
      },
    ],
  },
  "post /api/v1/devices": {
    "201": [
      {
        form: "DeviceStored",
        value: {
          id: 24,
          deviceID: "0011aa01",
          deviceName: "name of 0011aa01",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          deviceType: 1,
          upLinkSystem: 1,
          gateway: 1,
          parentDevice: null,
          productID: "k3Xb9Q",
          cloudProtocol: 4,
          modBusIndex: null,
          carrier: 1,
          physicalNetwork: 1,
          IMEI: null,
          IMSI: null,
          autoSub: null,
          manufacturer: null,
          serialNumber: null,
          softVersion: null,
          hardwareVersion: null,
          description: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          latitude: null,
          longitude: null,
          location: null,
          lora: {
            type: "abp",
            fcntCheck: 0,
            region: "EU863-870",
            nwkSKey: "00112233445566770011223344556677",
            appSKey: "00112233445566770011223344556677",
            fcntUp: 0,
            fcntDown: 0,
          },
          metaData: null,
          scopes: [],
          tenantID: "Cq8LZ0aT7",
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
          parentDeviceName: null,
          clientIP: null,
          connectedAt: null,
          keepAlive: null,
        },
      },
    ],
    request: [
      {
        form: "DeviceCreate",
        value: {
          productID: "k3Xb9Q",
          cloudProtocol: 1,
          deviceName: "name of bench-1",
          deviceID: "bench-1",
          deviceType: 1,
          upLinkSystem: 1,
          authType: 1,
          location: "row 1",
          scopes: [],
        },
      },
    ],
  },
  "post /api/v1/devices/bulk": {
    "202": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          ids: [2, 1],
          action: "command",
          payload: "on",
          ttl: 60,
        },
      },
    ],
  },
  "post /api/v1/devices/{id}/certs": {
    request: [
      {
        form: null,
        value: {
          ids: [6],
        },
      },
    ],
  },
  "post /api/v1/devices/{id}/explain": {
    "200": [
      {
        form: null,
        value: {
          form: {
            taken: "json",
            isEnvelope: false,
            isEntry: false,
            fault: null,
            others: [
              {
                form: "binary",
                why: 'no binary data stream of the product carries messages up on the topic "data"',
              },
              {
                form: "cbor",
                why: "CBOR begins with a byte from 0x80 to 0xbf, or 0xd9: its first byte is 0x7b",
              },
              {
                form: "senml",
                why: "a SenML pack is an array whose first record has a base name (bn), or a name (n) and a value",
              },
            ],
          },
          isDiscarded: false,
          points: [],
          refused: [
            {
              key: "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
              value: "21.5",
              reason: "unknown",
              count: 1,
              text: "The product has no data point of this name, or the topic's data stream leaves it out. Correct the key, or make the data point.",
            },
          ],
          isTruncated: false,
          unknownKeys: [
            {
              key: "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
              suggestion: null,
              isInProduct: false,
            },
          ],
          binary: null,
          stream: null,
          entries: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          topic: "data",
          payload: '{"temperature": 21.5}',
        },
      },
    ],
  },
  "post /api/v1/devices/{id}/policies": {
    "201": [
      {
        form: null,
        value: {
          items: [
            {
              id: 13,
              name: "policy-207",
              topic: "a/#",
              access: 0,
              allow: 0,
              description: "d",
              mqtt_acl: [
                {
                  id: 5,
                },
              ],
              userIntID: 1,
              createAt: "2026-11-21 10:00:00",
              updateAt: null,
              accessLabel: "发布",
              allowLabel: "拒绝",
            },
          ],
          meta: {
            count: 1,
            limit: 10,
            page: 1,
          },
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          ids: [13],
        },
      },
    ],
  },
  "post /api/v1/devices/{id}/redecode": {
    "202": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          startTime: "2026-01-01 00:00:00",
          endTime: null,
        },
      },
    ],
  },
  "post /api/v1/devices/{id}/subscriptions": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          topic: "orders",
          qos: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          topic: "orders",
        },
      },
    ],
  },
  "post /api/v1/devices_import": {
    "202": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
  },
  "post /api/v1/gateways": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          gatewayName: "north",
          deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          gatewayProtocol: 1,
          upLinkNetwork: 4,
          upLinkNetworkLabel: "Wi-Fi",
          upLinkProtocol: 1,
          upLinkProtocolLabel: "MQTT",
          mac: "00:11:22:33:44:55",
          productID: "k3Xb9Q",
          productName: "greenhouse",
          manufacturer: null,
          serialNumber: null,
          softVersion: null,
          hardwareVersion: null,
          description: null,
          location: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          gatewayName: "north",
          productID: "k3Xb9Q",
          gatewayProtocol: 1,
          upLinkNetwork: 4,
          upLinkProtocol: 1,
          mac: "00:11:22:33:44:55",
        },
      },
    ],
  },
  "post /api/v1/group_publish": {
    "201": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          groupID: "w7Hn2c",
          payload: "on",
        },
      },
    ],
  },
  "post /api/v1/group_schedule_publish": {
    request: [
      {
        form: null,
        value: {
          groupID: "w7Hn2c",
          groupIntID: 1,
          payload: "on",
          scheduleName: "s-91",
          crontabTime: "2099-01-01 00:00:00",
          scheduleType: 0,
        },
      },
    ],
  },
  "post /api/v1/groups": {
    "201": [
      {
        form: "GroupStored",
        value: {
          id: 1,
          groupID: "w7Hn2c",
          groupName: "east",
          description: "wing",
          productID: "k3Xb9Q",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: "GroupCreate",
        value: {
          productID: "k3Xb9Q",
          groupName: "east",
          description: "wing",
        },
      },
    ],
  },
  "post /api/v1/groups/{id}/devices": {
    request: [
      {
        form: null,
        value: {
          ids: [2],
        },
      },
    ],
  },
  "post /api/v1/groups/{id}/subscriptions": {
    "201": [
      {
        form: null,
        value: {
          id: 3,
          topic: "news/289",
          qos: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          topic: "news/289",
          qos: 1,
        },
      },
    ],
  },
  "post /api/v1/login": {
    "201": [
      {
        form: null,
        value: {
          token: "Jx0…",
          userIntID: 2,
          username: "user-280",
          tenantID: "Cq8LZ0aT7",
          role: "operator",
          expiresAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          username: "user-280",
          password: "correct horse battery",
        },
      },
    ],
  },
  "post /api/v1/metrics": {
    "201": [
      {
        form: null,
        value: {
          id: 3,
          metricName: "metric-184",
          metricType: 2,
          dataPointIntID: 1,
          aggregateType: 1,
          aggregateData: 1,
          chartType: 2,
          expressions: "dataPoint * 2",
          isShow: 0,
          productID: "k3Xb9Q",
          productItemIntID: null,
          remark: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          metricName: "fahrenheit",
          dataPointIntID: 1,
          expressions: "dataPoint * 9 / 5 + 32",
        },
      },
    ],
  },
  "post /api/v1/metrics_data/preview": {
    "200": [
      {
        form: null,
        value: [
          {
            id: null,
            metricName: "",
            metricType: 1,
            dataPointIntID: 1,
            aggregateType: null,
            aggregateData: 2,
            chartType: 1,
            expressions: "dataPoint * 1.8 + 32",
            isShow: 1,
            productID: "k3Xb9Q",
            productItemIntID: null,
            remark: null,
            createAt: null,
            updateAt: null,
            dataPointName: "point t",
            metricData: {
              time: ["2026-11-21 10:00:00", "2026-11-21 10:00:00"],
              value: [68, 71.6],
            },
          },
        ],
      },
    ],
    request: [
      {
        form: null,
        value: {
          dataPointIntID: 1,
          expressions: "dataPoint * 1.8 + 32",
          deviceID: "bench-1",
          startTime: "2026-01-01 00:00:00",
          maxPoints: 500,
        },
      },
    ],
  },
  "post /api/v1/original_data": {
    "202": [
      {
        form: null,
        value: {
          statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
        },
      },
    ],
  },
  "post /api/v1/policies": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          name: "up",
          topic: "#",
          access: 2,
          allow: 1,
          description: "all",
          mqtt_acl: [],
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          name: "up",
          topic: "#",
          access: 2,
          allow: 1,
          description: "all",
        },
      },
    ],
  },
  "post /api/v1/policies/{id}/devices": {
    request: [
      {
        form: null,
        value: {
          devicesIntID: [2],
        },
      },
    ],
  },
  "post /api/v1/product_resources": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          codeValue: "serialNumber",
          dataPointIntID: 2,
          productItemIntID: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          codeValue: "serialNumber",
          dataPointIntID: 2,
          productIntID: 1,
          productItemIntID: 0,
        },
      },
    ],
  },
  "post /api/v1/products": {
    "201": [
      {
        form: "ProductStored",
        value: {
          id: 1,
          productID: "k3Xb9Q",
          productName: "greenhouse",
          description: "glass",
          cloudProtocol: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: "ProductCreate",
        value: {
          productName: "greenhouse",
          cloudProtocol: 1,
          description: "glass",
        },
      },
    ],
  },
  "post /api/v1/products/{id}/subscriptions": {
    "201": [
      {
        form: null,
        value: {
          id: 4,
          topic: "news/290",
          qos: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          topic: "news/290",
          qos: 1,
        },
      },
    ],
  },
  "post /api/v1/resettle": {
    "200": [
      {
        form: null,
        value: {
          messages: 8,
          points: 6,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          startTime: "2026-01-01 00:00:00",
        },
      },
    ],
  },
  "post /api/v1/silences": {
    "201": [
      {
        form: null,
        value: {
          id: 1,
          severities: null,
          alertName: null,
          productIntID: null,
          productName: null,
          groupIntID: null,
          groupName: null,
          deviceIntID: 2,
          deviceName: "name of bench-1",
          startTime: "2026-11-21 10:00:00",
          endTime: "2026-11-21 10:00:00",
          comment: "repair",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          deviceIntID: 2,
          startTime: "2099-01-01 22:00:00",
          endTime: "2099-01-02 06:00:00",
          comment: "repair",
        },
      },
    ],
  },
  "post /api/v1/tenants": {
    "201": [
      {
        form: null,
        value: {
          id: 2,
          tenantID: "Cq8LZ0aT7",
          tenantName: "east-285",
          createAt: "2026-11-21 10:00:00",
          username: "admin-of-east-286",
          password: "Jx0…",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          tenantName: "east-285",
          username: "admin-of-east-286",
        },
      },
    ],
  },
  "post /api/v1/users": {
    "201": [
      {
        form: null,
        value: {
          id: 2,
          username: "user-280",
          role: "operator",
          tenantID: "Cq8LZ0aT7",
          createAt: "2026-11-21 10:00:00",
          updateAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          username: "user-280",
          password: "correct horse battery",
          role: "operator",
        },
      },
    ],
  },
  "put /api/v1/alert_routes/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 4,
          name: "boilers 311",
          enable: 1,
          severities: [1, 2],
          alertName: null,
          productIntID: 1,
          productName: "greenhouse",
          groupIntID: null,
          groupName: null,
          deviceIntID: null,
          deviceName: null,
          contactPoints: [
            {
              id: 10,
              name: "on call 310",
            },
          ],
          groupBy: ["alertName", "product"],
          wait: 30,
          groupInterval: 300,
          repeatInterval: 3600,
          sendResolved: 0,
          muteWindows: [
            {
              days: [6, 7],
              from: "22:00",
              to: "06:00",
            },
          ],
          timezone: "Asia/Shanghai",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          repeatInterval: 3600,
          sendResolved: 0,
        },
      },
    ],
  },
  "put /api/v1/alert_rules/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 4,
          alertName: "hot 295",
          alertContent: "warmer than 40 °C for a minute",
          alertSeverity: 2,
          alertSeverityLabel: "主要",
          productID: "k3Xb9Q",
          productIntID: 1,
          dataPointIntID: 1,
          dataPointName: "point t",
          condition: "dataPoint > 40",
          duration: 120,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          duration: 120,
        },
      },
    ],
  },
  "put /api/v1/app_templates/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          templateName: "ceiling lamp",
          templateType: 1,
          productID: "k3Xb9Q",
          productItemIntID: null,
          topic: "climate",
          dataPointIntID: 1,
          dataPointID: "t",
          dataStreamIntID: 3,
          dataTransType: 1,
          enum: null,
          places: [2, 1],
          defaultValues: [],
          instanceID: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
          itemID: null,
          itemName: null,
          itemOperations: null,
          objectID: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          templateName: "ceiling lamp",
          places: [2, 1],
        },
      },
    ],
  },
  "put /api/v1/certs/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 5,
          name: "cert-287",
          enable: 0,
          createAt: "2026-11-21 10:00:00",
          CN: "Cq8LZ0aT7:7hq2v0d3k5m8p1r4t6w9z2b5c8",
          cert: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          key: "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n",
          root: "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          enable: 0,
        },
      },
    ],
  },
  "put /api/v1/contact_points/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 4,
          name: "on call 301",
          type: "webhook",
          enable: 1,
          language: "zh",
          settings: {
            contentType: "application/json",
            address: "https://hooks.example.com",
          },
          secrets: ["url", "secret"],
          subjectTemplate: "{{ alerts[0].alertName }}",
          bodyTemplate: null,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          language: "zh",
          subjectTemplate: "{{ alerts[0].alertName }}",
        },
      },
    ],
  },
  "put /api/v1/dashboards/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 4,
          name: "greenhouse 319",
          description: "what the night shift watches",
          version: 2,
          createUser: "admin",
          updateUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 60,
            panels: [
              {
                type: "chart",
                id: "climate",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                type: "text",
                id: "note",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          version: 1,
          document: {
            variables: [
              {
                name: "house",
                label: "House",
                type: "device",
                value: "bench-1",
              },
            ],
            range: {
              start: "-24h",
              end: "now",
            },
            timezone: "deployment",
            refreshSeconds: 60,
            panels: [
              {
                id: "climate",
                type: "chart",
                title: "Climate",
                layout: {
                  x: 0,
                  y: 0,
                  w: 8,
                  h: 6,
                },
                series: [
                  {
                    deviceID: "$house",
                    dataPointIntID: 1,
                    color: 0,
                  },
                  {
                    deviceID: "$house",
                    dataPointIntID: 2,
                    color: 1,
                    axis: "right",
                  },
                ],
                unit: "real",
                limits: true,
              },
              {
                id: "note",
                type: "text",
                title: "",
                layout: {
                  x: 8,
                  y: 0,
                  w: 4,
                  h: 6,
                },
                phone: {
                  order: 0,
                  h: 2,
                },
                markdown: "Vents open above **26 °C**.",
              },
            ],
          },
        },
      },
    ],
  },
  "put /api/v1/dashboards/{id}/shares/{shareID}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          name: "the hall's screen",
          allowedOrigins: ["https://intranet.example.com"],
          expiresAt: "2026-11-21 10:00:00",
          version: "latest",
          enable: 0,
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          lastUsedAt: null,
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          enable: 0,
        },
      },
    ],
  },
  "put /api/v1/data_points/{id}": {
    "200": [
      {
        form: "DataPointStored",
        value: {
          id: 1,
          dataPointID: "t",
          dataPointName: "point t",
          productID: "k3Xb9Q",
          pointDataType: 1,
          dataTransType: 1,
          unitName: "kelvin",
          unitSymbol: "°C",
          upperLimit: null,
          lowerLimit: null,
          dataStep: null,
          binarySize: null,
          faultValue: null,
          isDiscard: null,
          enum: null,
          isLocationType: 0,
          locationType: null,
          registerAddr: null,
          detail: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
      {
        form: "DataStreamStored",
        value: {
          id: 34,
          productID: "k3Xb9Q",
          streamName: "renamed-181",
          streamType: 1,
          streamDataType: 1,
          topic: "topic-180",
          dataPoints: [1],
          detail: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: "DataPointEdit",
        value: {
          unitName: "kelvin",
        },
      },
    ],
  },
  "put /api/v1/data_streams/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 3,
          productID: "k3Xb9Q",
          streamName: "climate",
          streamType: 1,
          streamDataType: 1,
          topic: "climate",
          dataPoints: [1, 2],
          detail: "indoors",
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          detail: "indoors",
        },
      },
    ],
  },
  "put /api/v1/devices/{id}": {
    "200": [
      {
        form: "DeviceStored",
        value: {
          id: 2,
          deviceID: "bench-1",
          deviceName: "name of bench-1",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          deviceType: 1,
          upLinkSystem: 1,
          gateway: null,
          parentDevice: null,
          productID: "k3Xb9Q",
          cloudProtocol: 1,
          modBusIndex: null,
          carrier: 1,
          physicalNetwork: 1,
          IMEI: null,
          IMSI: null,
          autoSub: null,
          manufacturer: null,
          serialNumber: "SN-0001",
          softVersion: null,
          hardwareVersion: null,
          description: "by the door",
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          latitude: null,
          longitude: null,
          location: "row 1",
          lora: null,
          metaData: null,
          scopes: [],
          tenantID: "Cq8LZ0aT7",
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
          parentDeviceName: null,
          clientIP: null,
          connectedAt: null,
          keepAlive: null,
        },
      },
    ],
    request: [
      {
        form: "DeviceEdit",
        value: {
          blocked: 0,
        },
      },
    ],
  },
  "put /api/v1/devices/{id}/location": {
    "200": [
      {
        form: "DeviceStored",
        value: {
          id: 2,
          deviceID: "bench-1",
          deviceName: "name of bench-1",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          deviceType: 1,
          upLinkSystem: 1,
          gateway: null,
          parentDevice: null,
          productID: "k3Xb9Q",
          cloudProtocol: 1,
          modBusIndex: null,
          carrier: 1,
          physicalNetwork: 1,
          IMEI: null,
          IMSI: null,
          autoSub: null,
          manufacturer: null,
          serialNumber: "SN-0001",
          softVersion: "21.5",
          hardwareVersion: null,
          description: "by the door",
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          latitude: 47.37,
          longitude: 8.54,
          location: "row 1",
          lora: null,
          metaData: null,
          scopes: [],
          tenantID: "Cq8LZ0aT7",
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
          parentDeviceName: null,
          clientIP: null,
          connectedAt: null,
          keepAlive: null,
        },
      },
      {
        form: "GatewayStored",
        value: {
          id: 1,
          gatewayName: "north",
          deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          gatewayProtocol: 1,
          upLinkNetwork: 4,
          upLinkNetworkLabel: "Wi-Fi",
          upLinkProtocol: 1,
          upLinkProtocolLabel: "MQTT",
          mac: "00:1B:44:11:3A:B7",
          productID: "k3Xb9Q",
          productName: "greenhouse",
          manufacturer: null,
          serialNumber: "50",
          softVersion: null,
          hardwareVersion: null,
          description: null,
          location: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: "DevicePlace",
        value: {
          longitude: 8.54,
          latitude: 47.37,
        },
      },
    ],
  },
  "put /api/v1/gateways/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          gatewayName: "north",
          deviceID: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          deviceUsername: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          token: "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11",
          authType: 1,
          blocked: 0,
          deviceStatus: 0,
          gatewayProtocol: 1,
          upLinkNetwork: 4,
          upLinkNetworkLabel: "Wi-Fi",
          upLinkProtocol: 1,
          upLinkProtocolLabel: "MQTT",
          mac: "00:1B:44:11:3A:B7",
          productID: "k3Xb9Q",
          productName: "greenhouse",
          manufacturer: null,
          serialNumber: "50",
          softVersion: null,
          hardwareVersion: null,
          description: null,
          location: null,
          deviceConsoleIP: null,
          deviceConsolePort: 22,
          deviceConsoleUsername: null,
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          mac: "00:1B:44:11:3A:B7",
        },
      },
    ],
  },
  "put /api/v1/groups/{id}": {
    "200": [
      {
        form: "GroupStored",
        value: {
          id: 4,
          groupID: "w7Hn2c",
          groupName: "renamed-88",
          description: "d",
          productID: "k3Xb9Q",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          description: "east wing",
        },
      },
    ],
  },
  "put /api/v1/me/password": {
    request: [
      {
        form: null,
        value: {
          password: "correct horse battery",
          newPassword: "battery staple",
          revokeApiKeys: true,
        },
      },
    ],
  },
  "put /api/v1/metrics/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 8,
          metricName: "renamed-190",
          metricType: 1,
          dataPointIntID: 1,
          aggregateType: 1,
          aggregateData: 2,
          chartType: 2,
          expressions: "dataPoint * 2",
          isShow: 0,
          productID: "k3Xb9Q",
          productItemIntID: null,
          remark: null,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          remark: "for the console",
        },
      },
    ],
  },
  "put /api/v1/policies/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 1,
          name: "up",
          topic: "#",
          access: 2,
          allow: 1,
          description: "all topics",
          mqtt_acl: [
            {
              id: 1,
            },
          ],
          userIntID: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          description: "all topics",
        },
      },
    ],
  },
  "put /api/v1/products/{id}": {
    "200": [
      {
        form: "ProductStored",
        value: {
          id: 1,
          productID: "k3Xb9Q",
          productName: "greenhouse",
          description: "glass houses",
          cloudProtocol: 1,
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          description: "glass houses",
        },
      },
    ],
  },
  "put /api/v1/silences/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 4,
          severities: null,
          alertName: null,
          productIntID: null,
          productName: null,
          groupIntID: null,
          groupName: null,
          deviceIntID: 2,
          deviceName: "name of bench-1",
          startTime: "2026-11-21 10:00:00",
          endTime: "2026-11-21 10:00:00",
          comment: "done sooner",
          createUser: "admin",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          comment: "done sooner",
          endTime: "2099-01-02 04:00:00",
        },
      },
    ],
  },
  "put /api/v1/users/{id}": {
    "200": [
      {
        form: null,
        value: {
          id: 6,
          username: "user-284",
          role: "viewer",
          tenantID: "Cq8LZ0aT7",
          createAt: "2026-11-21 10:00:00",
          updateAt: "2026-11-21 10:00:00",
        },
      },
    ],
    request: [
      {
        form: null,
        value: {
          role: "viewer",
        },
      },
    ],
  },
};
