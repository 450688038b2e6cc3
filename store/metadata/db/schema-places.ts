/**
 * Where devices stand, from south to north, with what a map filters by; and the severities of current alerts by device.
 * Both answer without the rows themselves, which are ten times as wide.
 */
export const placesTables: readonly string[] = [
  `create index device_place on device (tenant, latitude, longitude, id, kind, productIntID)
    where latitude is not null and longitude is not null`,
  `create index alert_severity on alert (tenant, deviceIntID, alertSeverity, endTime) where endTime is null`,
];
