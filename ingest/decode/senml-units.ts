/**
 * The units of SenML: which of them mean the same, and what the text that people write as a data point's unit may be
 * in them. A text is only enough to refuse a value, never to convert it.
 */

/** RFC 8428 §12.1 and RFC 8798 §2; those of RFC 8798 §3 are multiples of them. */
const primaryUnits = `m kg g s A K cd mol Hz rad sr N Pa J W C V F Ohm S Wb T H Cel lm lx Bq Gy Sv kat m2 m3 l m/s
  m/s2 m3/s l/s W/m2 cd/m2 bit bit/s lat lon pH dB dBW Bspl count / % %RH %EL EL 1/s 1/min beat/min beats S/m
  B VA VAs var vars J/m kg/m3 deg`;
const secondaryUnits = `ms min h MHz kW kVA kvar Ah Wh kWh varh kvarh kVAh Wh/km KiB GB Mbit/s B/s MB/s mV mA dBm ug/m3
  mm/h m/h ppm /100 /1000 hPa mm cm km km/h`;

const names = (list: string): string[] => list.split(/\s+/);

const senmlUnits: ReadonlySet<string> = new Set([...names(primaryUnits), ...names(secondaryUnits)]);

/** Whether it is a unit of the registry: of any other nothing is known. */
export function isSenmlUnit(unit: string): boolean {
  return senmlUnits.has(unit);
}

/** Units that devices use for each other. `%` is a ratio by RFC 8428, and percent to most of its senders. */
const alike: readonly ReadonlySet<string>[] = [
  new Set(["%", "/"]),
  new Set(["%", "/100"]),
  new Set(["%", "%RH", "/100"]),
  new Set(["%", "%EL", "/100"]),
  new Set(["Hz", "1/s", "beats"]),
  new Set(["1/min", "beat/min"]),
  new Set(["deg", "lat"]),
  new Set(["deg", "lon"]),
];

/** Whether two units of the registry may mean the same. */
export function isAlike(a: string, b: string): boolean {
  return a === b || alike.some((group) => group.has(a) && group.has(b));
}

/**
 * How people write units, each line a list of spellings with the units of SenML that they may mean. Where a spelling
 * is ambiguous it has all of them; with none it is a known unit that SenML cannot say.
 */
const spellings = `
  °C degC 摄氏度 摄氏 celsius centigrade: Cel
  °F degF 华氏度 fahrenheit:
  K 开尔文 kelvin: K
  °: deg lat lon Cel
  度: deg lat lon Cel kWh
  deg degree degrees 角度: deg lat lon Cel
  % percent 百分比 百分数: % %RH %EL /100
  %RH RH% %rH 相对湿度: %RH % /100
  C: Cel C
  F: F
  ‰ /1000 千分比: /1000
  ppm: ppm
  ppb:
  Pa 帕 帕斯卡 pascal: Pa
  hPa mbar mb 百帕 毫巴 hectopascal: hPa
  kPa 千帕 MPa 兆帕 bar 巴 psi mmHg atm:
  m 米 metre meter metres meters: m min
  mm 毫米: mm
  cm 厘米: cm
  km 公里 千米: km
  in inch ft mi mile μm um 微米 nm:
  m2 m^2 平方米: m2
  m3 m^3 立方米 方: m3
  l L 升 litre liter: l
  ml mL 毫升:
  kg 千克 公斤 kilogram: kg
  g 克 gram: g
  mg 毫克 t 吨:
  s sec 秒 second seconds: s
  S: S s
  ms 毫秒: ms
  min 分钟 minute minutes: min
  h hr 小时 时 hour hours: h
  d 天 日 day days:
  m/s 米/秒 米每秒: m/s
  km/h kmh km/hr 公里/小时 千米/小时 千米每小时: km/h
  mm/h 毫米/小时: mm/h
  mph knot kn:
  m/s2 m/s^2: m/s2
  m3/s m^3/s: m3/s
  l/s L/s 升/秒: l/s
  m3/h m^3/h L/min l/min L/h l/h:
  A 安 安培 ampere amp amps: A
  mA 毫安: mA
  V 伏 伏特 volt volts: V
  mV 毫伏: mV
  kV 千伏:
  W 瓦 瓦特 watt watts: W
  kW 千瓦 kilowatt: kW
  mW MW 兆瓦:
  J 焦 焦耳 joule: J
  kJ MJ GJ cal kcal:
  Wh 瓦时: Wh
  kWh kW·h kw/h 千瓦时 千瓦·时: kWh
  MWh 兆瓦时:
  VA 伏安: VA
  kVA 千伏安: kVA
  var 乏: var
  kvar 千乏: kvar
  varh: varh
  kvarh: kvarh
  kVAh: kVAh
  Ah 安时: Ah
  mAh 毫安时:
  Ω Ohm 欧 欧姆 ohms: Ohm
  kΩ 千欧 MΩ 兆欧 mΩ:
  Hz 赫兹 赫 hertz: Hz 1/s beats
  kHz 千赫 GHz:
  MHz 兆赫: MHz
  rpm r/min 转/分 转/分钟: 1/min
  bpm 次/分 次/分钟: 1/min beat/min
  次/秒: 1/s Hz beats
  lx lux 勒克斯: lx
  lm 流明 lumen: lm
  cd 坎德拉: cd
  W/m2 w/㎡ 瓦/平方米: W/m2
  dB 分贝 decibel: dB dBW dBm Bspl
  dBA dB(A): dB Bspl
  dBm: dBm
  dBW: dBW
  pH PH ph: pH
  N 牛 牛顿 newton: N
  rad 弧度: rad
  Bq 贝克勒尔: Bq
  Sv 西弗: Sv
  μSv/h uSv/h μSv uSv mSv:
  kg/m3 千克/立方米: kg/m3
  ug/m3 μg/m3 微克/立方米: ug/m3
  mg/m3 g/m3 mg/L mg/l g/L:
  S/m: S/m
  μS/cm uS/cm mS/cm mS μS uS:
  H: H h
  lat latitude 纬度: lat deg
  lon lng longitude 经度: lon deg
  count 次 个 pcs 件: count
  bit: bit
  bit/s bps: bit/s
  Mbit/s Mbps: Mbit/s
  B byte bytes 字节: B
  KB kB: KiB
  KiB: KiB
  MB:
  GB: GB
  B/s: B/s
  MB/s: MB/s
`;

const bySpelling = new Map<string, readonly string[]>();
/** Spellings whose case says nothing: not those of a letter or two, where mW is not MW. */
const byLowerCase = new Map<string, readonly string[] | null>();
readSpellings();

function readSpellings(): void {
  for (const unit of senmlUnits) bySpelling.set(unit, [unit]);
  for (const line of spellings.trim().split("\n")) {
    const colon = line.lastIndexOf(":");
    const units = names(line.slice(colon + 1)).filter((unit) => unit !== "");
    for (const spelling of names(line.slice(0, colon)).filter((one) => one !== "")) {
      bySpelling.set(spelling.normalize("NFKC"), units);
    }
  }
  for (const [spelling, units] of bySpelling) {
    const lower = spelling.toLowerCase();
    const other = byLowerCase.get(lower);
    // Two units that differ by case alone are not distinguished by another case.
    byLowerCase.set(lower, other === undefined || String(other) === String(units) ? units : null);
  }
}

/**
 * The units of SenML that a data point may be in, by the texts of its unit; null if none of the texts is known.
 */
export function listSenmlUnits(...texts: readonly (string | null)[]): ReadonlySet<string> | null {
  const known = texts.flatMap((text) => (text === null ? [] : [unitsOfText(text)])).filter(isKnown);
  return known.length === 0 ? null : new Set(known.flat());
}

/** Written where there is none, and no ratio. */
const noUnit = "/";

function unitsOfText(text: string): readonly string[] | null {
  const written = text.normalize("NFKC").replace(/\s+/g, "");
  if (written === noUnit) return null;
  const isCapital = written.length === 1 && written !== written.toLowerCase();
  return bySpelling.get(written) ?? (isCapital ? null : byLowerCase.get(written.toLowerCase())) ?? null;
}

const isKnown = (units: readonly string[] | null): units is readonly string[] => units !== null;
