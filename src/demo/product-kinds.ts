/** Ten products of a fleet: what their devices measure, and when that is an alert. */
import { rounded, type Settings, setting, spell, type WaveReading, wave } from "./waves.js";

interface PointKind {
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly unitSymbol?: string;
  readonly upperLimit?: number;
  readonly lowerLimit?: number;
  /** Given by a device, or both ways: commands set it. */
  readonly isSet?: true;
  readonly read: WaveReading;
}

export interface ProductKind {
  readonly name: string;
  /** deviceIDs begin with it. */
  readonly prefix: string;
  readonly description: string;
  readonly points: readonly PointKind[];
  readonly rule?: {
    readonly of: string;
    readonly alertName: string;
    readonly condition: string;
    readonly alertSeverity: 1 | 2 | 3 | 4;
  };
}

const doorOpen = (time: number, device: number): boolean =>
  spell(time, device, { everyMinutes: 42, minutes: 4 });
const clogged = (time: number, device: number): boolean =>
  spell(time, device, { everyMinutes: 90, minutes: 3 });
const cold = wave({ mean: 4, spread: 1.5, noise: 0.6, decimals: 2 });
const flowNoise = wave({ mean: 1, noise: 0.03, decimals: 4 });
const head = wave({ mean: 1.4, spread: 0.2, noise: 0.3, decimals: 2 });
const sun = wave({ mean: -400, spread: 300, seasons: 600, days: 3600, noise: 700, decimals: 0, min: 0 });

function flow(time: number, device: number, settings: Settings): number {
  const wanted = settings.get("target") ?? 42;
  return rounded(wanted * Number(flowNoise(time, device, settings)) * (clogged(time, device) ? 0.35 : 1), 1);
}

export const mast: ProductKind = {
  name: "Weather mast",
  prefix: "mast",
  description: "Temperature, humidity, wind and air pressure at ten metres",
  points: [
    {
      dataPointID: "temperature",
      dataPointName: "Temperature",
      unitSymbol: "°C",
      read: wave({ mean: 11, spread: 6, seasons: 9, days: 4, noise: 2.5 }),
    },
    {
      dataPointID: "humidity",
      dataPointName: "Humidity",
      unitSymbol: "%",
      read: wave({ mean: 68, spread: 14, days: -14, noise: 9, decimals: 0, min: 8, max: 100 }),
    },
    {
      dataPointID: "wind",
      dataPointName: "Wind speed",
      unitSymbol: "m/s",
      read: wave({ mean: 5.5, spread: 4, days: 1.5, noise: 4.5, min: 0 }),
    },
    {
      dataPointID: "pressure",
      dataPointName: "Air pressure",
      unitSymbol: "hPa",
      read: wave({ mean: 1014, spread: 10, noise: 5 }),
    },
  ],
  rule: { of: "wind", alertName: "Strong wind", condition: "dataPoint > 9", alertSeverity: 3 },
};

export const coldStore: ProductKind = {
  name: "Cold store",
  prefix: "cold",
  description: "Room for food at 2 to 7 °C, with a contact at its door",
  points: [
    {
      dataPointID: "temperature",
      dataPointName: "Room temperature",
      unitSymbol: "°C",
      upperLimit: 7,
      lowerLimit: 1,
      read: (time, device, settings) =>
        rounded(Number(cold(time, device, settings)) + (doorOpen(time, device) ? 5 : 0), 2),
    },
    {
      dataPointID: "humidity",
      dataPointName: "Humidity",
      unitSymbol: "%",
      read: wave({ mean: 84, spread: 6, noise: 4, decimals: 0, max: 100 }),
    },
    { dataPointID: "door", dataPointName: "Door open", read: doorOpen },
  ],
  rule: { of: "temperature", alertName: "Food at risk", condition: "dataPoint > 8.5", alertSeverity: 1 },
};

export const pump: ProductKind = {
  name: "Pump station",
  prefix: "pump",
  description: "Fresh water pump; a command sets its flow",
  points: [
    { dataPointID: "flow", dataPointName: "Flow", unitSymbol: "m³/h", read: flow },
    {
      dataPointID: "pressure",
      dataPointName: "Outlet pressure",
      unitSymbol: "bar",
      read: (time, device, settings) =>
        rounded(Number(head(time, device, settings)) + 0.07 * flow(time, device, settings), 2),
    },
    {
      dataPointID: "power",
      dataPointName: "Power",
      unitSymbol: "kW",
      read: (time, device, settings) => rounded(2.1 + 0.31 * flow(time, device, settings), 1),
    },
    {
      dataPointID: "target",
      dataPointName: "Wanted flow",
      unitSymbol: "m³/h",
      isSet: true,
      read: setting("target", 42),
    },
  ],
  rule: { of: "pressure", alertName: "Low pressure", condition: "dataPoint < 3", alertSeverity: 2 },
};

export const productKinds: readonly ProductKind[] = [
  mast,
  coldStore,
  pump,
  {
    name: "Electricity meter",
    prefix: "meter",
    description: "Three phases, calibrated",
    points: [
      {
        dataPointID: "power",
        dataPointName: "Active power",
        unitSymbol: "kW",
        read: wave({ mean: 46, spread: 60, seasons: -6, days: 18, noise: 9, min: 0.2 }),
      },
      {
        dataPointID: "voltage",
        dataPointName: "Voltage",
        unitSymbol: "V",
        upperLimit: 244,
        read: wave({ mean: 231, spread: 4, days: -2, noise: 3 }),
      },
    ],
  },
  {
    name: "Solar inverter",
    prefix: "solar",
    description: "Roof plant of 5 kW",
    points: [
      { dataPointID: "power", dataPointName: "AC power", unitSymbol: "W", read: sun },
      {
        dataPointID: "temperature",
        dataPointName: "Heat sink",
        unitSymbol: "°C",
        read: wave({ mean: 31, spread: 6, seasons: 9, days: 12, noise: 2 }),
      },
    ],
  },
  {
    name: "Air quality station",
    prefix: "air",
    description: "Fine dust and nitrogen dioxide beside roads",
    points: [
      {
        dataPointID: "pm25",
        dataPointName: "PM2.5",
        unitSymbol: "µg/m³",
        read: wave({ mean: 14, spread: 12, seasons: -5, days: 3, noise: 6, min: 0.5 }),
      },
      {
        dataPointID: "no2",
        dataPointName: "NO₂",
        unitSymbol: "µg/m³",
        read: wave({ mean: 24, spread: 20, days: 7, noise: 8, min: 1 }),
      },
    ],
    rule: { of: "pm25", alertName: "Fine dust", condition: "dataPoint > 25", alertSeverity: 3 },
  },
  {
    name: "Soil probe",
    prefix: "soil",
    description: "Three depths, battery for five years",
    points: [
      {
        dataPointID: "moisture",
        dataPointName: "Moisture",
        unitSymbol: "%",
        read: wave({ mean: 27, spread: 18, seasons: -8, noise: 1.5, min: 2 }),
      },
      {
        dataPointID: "battery",
        dataPointName: "Battery",
        unitSymbol: "V",
        read: wave({ mean: 3.4, spread: 0.6, noise: 0.02, decimals: 2 }),
      },
    ],
    rule: { of: "battery", alertName: "Battery low", condition: "dataPoint < 3.15", alertSeverity: 4 },
  },
  {
    name: "River gauge",
    prefix: "river",
    description: "Radar level at bridges",
    points: [
      {
        dataPointID: "level",
        dataPointName: "Water level",
        unitSymbol: "cm",
        read: wave({ mean: 184, spread: 160, seasons: -30, noise: 12, decimals: 0 }),
      },
      {
        dataPointID: "temperature",
        dataPointName: "Water temperature",
        unitSymbol: "°C",
        read: wave({ mean: 11, spread: 2, seasons: 7, days: 0.6, noise: 0.4 }),
      },
    ],
  },
  {
    name: "Heat pump",
    prefix: "heat",
    description: "Heating of a house; a command sets its flow temperature",
    points: [
      {
        dataPointID: "flowTemperature",
        dataPointName: "Flow temperature",
        unitSymbol: "°C",
        read: wave({ mean: 36, spread: 6, seasons: -5, days: -2, noise: 1.5 }),
      },
      {
        dataPointID: "power",
        dataPointName: "Power",
        unitSymbol: "kW",
        read: wave({ mean: 2.2, spread: 1, seasons: -1.2, days: -0.5, noise: 0.5, decimals: 2, min: 0 }),
      },
      {
        dataPointID: "target",
        dataPointName: "Wanted temperature",
        unitSymbol: "°C",
        isSet: true,
        read: setting("target", 36),
      },
    ],
  },
  {
    name: "Parking bay",
    prefix: "bay",
    description: "Magnetic sensor in the ground",
    points: [
      {
        dataPointID: "occupied",
        dataPointName: "Occupied",
        read: (time, device) => spell(time, device, { everyMinutes: 130, minutes: 85 }),
      },
      {
        dataPointID: "battery",
        dataPointName: "Battery",
        unitSymbol: "V",
        read: wave({ mean: 3.5, spread: 0.3, noise: 0.01, decimals: 2 }),
      },
    ],
  },
];
