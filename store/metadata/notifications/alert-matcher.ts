/** Which alerts a route or a silence is about; null matches all. */
export interface AlertMatcher {
  readonly severities: readonly number[] | null;
  readonly alertName: string | null;
  readonly productIntID: number | null;
  readonly groupIntID: number | null;
  readonly deviceIntID: number | null;
}

/** What a matcher looks at in an alert. */
export interface MatchedAlert {
  readonly alertSeverity: number;
  readonly alertName: string;
  readonly productIntID: number;
  readonly deviceIntID: number;
  /** The groups of its device that some matcher names. */
  readonly groups: ReadonlySet<number>;
}

export function matches(matcher: AlertMatcher, alert: MatchedAlert): boolean {
  const { severities, alertName, productIntID, groupIntID, deviceIntID } = matcher;
  return (
    (severities === null || severities.includes(alert.alertSeverity)) &&
    (alertName === null || alertName === alert.alertName) &&
    (productIntID === null || productIntID === alert.productIntID) &&
    (deviceIntID === null || deviceIntID === alert.deviceIntID) &&
    (groupIntID === null || alert.groups.has(groupIntID))
  );
}
