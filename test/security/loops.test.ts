/**
 * Every loop of the sources stands in a list here, with what bounds the turn of the loop of events that it takes: one
 * whose length comes from outside may hold everybody up. The compiled sources are read, so `for`, `while` and `do` are
 * found wherever they stand. Methods that take a callback (`forEach`, `map`, `filter`, `reduce` and the like), native
 * functions over long texts, and regular expressions (test/regular-expressions) are not looked for.
 *
 * What bounds them, by file; where a file has several loops, the weakest reason:
 *
 * - `yields`: those that may be long let others in between their steps by store/lib/scheduling.ts; the file takes it from there.
 * - `awaits`: each step, over a page, a piece or a portion of bounded size, waits for a store, a thread, a disk or a peer.
 * - `worker`: the file is a worker's or a child's alone; src/main does not come to it.
 * - `startup`: before anybody is served, when the service ends, in a tool of the operator, or in the demo.
 * - `constant`: a table of the code, a number of a few digits, a handful of attempts.
 * - `taken`: takes out or passes on, once, what was put in one by one; putting it in has been charged.
 * - `limit: NAME`: what it goes over has a bound of that name, a constant or a setting, and a step costs little.
 * - `long`: none of these. It may take longer than it should, for the reason that `longer` gives; to be repaired.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Node, parse } from "acorn";
import { assert, suite } from "../suite.js";

const longer: Readonly<Record<string, string>> = {
  "ingest/access/credentials": "compares with each certificate that is bound to one device",
  "ingest/sessions/changes": "a save that failed puts all that it had taken back in one turn",
  "ingest/sessions/pending-wills":
    "looks at all wills that are left, each second and after each connection that ends",
  "ingest/sessions/snapshot":
    "which messages have changed is looked up in one turn, and sessions made into rows: it must be the state of one journal id",
  "ingest/alerts/geofence":
    "compares each edge of a fence of up to 16 KiB with each other where they overlap",
};

/** By source file: how many loops it has, and what bounds them. */
// biome-ignore format: one line a file
const known: Readonly<Record<string, readonly [loops: number, bound: string]>> = {
  "src/backup/backup": [5, "startup"],
  "src/backup/copy-shards": [3, "startup"],
  "src/backup/copying": [3, "startup"],
  "src/cluster/leader-lease": [1, "awaits"],
  "src/brokers/local-shard": [1, "awaits"],
  "src/brokers/shard-queue": [8, "limit: receiveMaximum"],
  "src/brokers/take-for-follower": [1, "awaits"],
  "src/cluster/forward-request": [1, "constant"],
  "src/live/figures": [1, "limit: nodesMax"],
  "src/live-nodes/node-responder": [3, "yields"],
  "src/live-nodes/cluster-feed": [4, "limit: chunkBytesMax"],
  "src/live-nodes/lines": [2, "awaits"],
  "src/live-nodes/node-link": [4, "yields"],
  "src/service/live-publisher": [3, "constant"],
  "src/service/shard-pipeline": [1, "awaits"],
  "src/commands/node-calls": [2, "yields"],
  "src/cluster/link-watch": [2, "yields"],
  "src/cluster/links": [2, "startup"],
  "src/cluster/listener": [1, "startup"],
  "src/cluster/node-number": [2, "awaits"],
  "src/cluster/shared-links": [3, "limit: connectionsMax"],
  "src/cluster/shard-leases": [1, "awaits"],
  "src/cluster/brokers-watch": [1, "awaits"],
  "src/cluster/shard-moves": [11, "limit: JOURNAL_SHARDS"],
  "src/cluster/shard-plan": [3, "limit: JOURNAL_SHARDS"],
  "src/cluster/shard-view": [1, "limit: JOURNAL_SHARDS"],
  "src/config/cluster": [2, "startup"],
  "src/config/secret-files": [1, "startup"],
  "ingest/transports/sockets/relay": [1, "constant"],
  "ingest/transports/mqtt/connection/connack": [1, "constant"],
  "src/backup/backup-folder": [2, "awaits"],
  "src/backup/backup-jobs": [2, "awaits"],
  "src/backup/backup.child": [1, "worker"],
  "src/routes/backups": [1, "limit: pageMax"],
  "src/cli/move-series": [4, "startup"],
  "src/console/build": [1, "startup"],
  "src/console/sizes": [3, "startup"],
  "src/console/land": [6, "startup"],
  "src/demo/fleet": [4, "startup"],
  "src/demo/history": [4, "startup"],
  "src/demo/import-points": [1, "startup"],
  "src/demo/saved-demo": [1, "startup"],
  "src/demo/lanes": [1, "startup"],
  "src/demo/simulated-device": [1, "startup"],
  "src/demo/simulator": [1, "startup"],
  "src/http/share-use": [4, "limit: addressesMax"],
  "store/metadata/devices/owners": [1, "startup"],
  "store/series/move/batch-writer": [2, "startup"],
  "store/series/move/move-points": [7, "startup"],
  "src/backup/restore": [5, "startup"],
  "src/backup/verify-backup": [2, "startup"],
  "src/cli/backup-tools": [1, "startup"],
  "store/files/copy-database": [3, "startup"],
  "store/files/copy-file": [2, "startup"],
  "store/journal/last-record": [1, "startup"],
  "store/journal/kafka/brokers-reach": [1, "limit: triedAtOnceMax"],
  "store/journal/kafka/partition": [1, "constant"],
  "store/journal/replicated/claim": [2, "awaits"],
  "store/journal/replicated/copy-ahead": [1, "startup"],
  "store/journal/replicated/folder-copy": [2, "startup"],
  "store/journal/replicated/log-appender": [1, "awaits"],
  "store/journal/replicated/lost-frames": [1, "awaits"],
  "store/journal/replicated/log-frames": [1, "limit: frameBytesMax"],
  "store/journal/replicated/replicated-segments": [4, "limit: frameBytesMax"],
  "store/journal/replicated/restore": [3, "startup"],
  "store/journal/kafka/read": [2, "yields"],
  "store/journal/kafka/record-batches": [3, "limit: frameBytesMax"],
  "store/series/embedded/copy-series": [3, "startup"],
  "src/config/journal": [1, "limit: brokersMax"],
  "src/contact-points/hosts-file": [2, "yields"],
  "src/contact-points/settings": [1, "constant"],
  "src/dashboards/read-document": [7, "yields"],
  "src/map-tiles/fetch-tile": [2, "limit: tileBytesMax"],
  "src/map-tiles/tile-cache": [1, "taken"],
  "src/notifications/assign-alerts": [1, "limit: placementsPerStep"],
  "src/notifications/deliver": [3, "limit: contactPointsMax"],
  "src/notifications/mute-windows": [3, "limit: muteWindowsMax"],
  "src/notifications/notifier": [3, "awaits"],
  "src/notifications/renderer.worker": [1, "worker"],
  "src/notifications/notify-groups": [2, "yields"],
  "src/routes/alert-matcher": [1, "constant"],
  "src/routes/shared-panels": [3, "awaits"],
  "store/metadata/devices/place-grid": [1, "constant"],
  "store/metadata/devices/places": [4, "awaits"],
  "store/metadata/notifications/contact-points": [1, "awaits"],
  "store/metadata/users/sealing": [3, "awaits"],
  "store/metadata/notifications/alert-outbox": [1, "limit: rowsPerStep"],
  "ingest/access/networks": [1, "constant"],
  "ingest/consumers/series": [2, "limit: pointsMax"],
  "ingest/rates": [3, "limit: ratedTenantsMax"],
  "src/observability/status": [2, "limit: JOURNAL_SHARDS"],
  "ingest/sessions/client-sessions": [2, "limit: outgoingMessagesMax"],
  "ingest/clients/client": [2, "taken"],
  "ingest/clients/clients": [2, "yields"],
  "ingest/clients/polled-inbox": [2, "limit: looksMax"],
  "ingest/clients/waiting-for-disk": [3, "taken"],
  "ingest/directory/by-shard": [6, "limit: depthMax"],
  "ingest/directory/descendants": [1, "constant"],
  "ingest/directory/shard-waits": [2, "constant"],
  "ingest/transports/http/influx/line-protocol": [9, "limit: lineCharactersMax"],
  "ingest/transports/http/influx/line-values": [1, "limit: lineCharactersMax"],
  "ingest/transports/http/influx/targets": [1, "constant"],
  "ingest/transports/http/influx/write": [3, "awaits"],
  "ingest/transports/http/messages/batch": [4, "awaits"],
  "ingest/transports/http/requests/taking": [1, "yields"],
  "ingest/decode/json-bounds": [2, "limit: frameBytesMax"],
  "ingest/transports/sockets/whole-frames": [4, "limit: payloadBytesMax"],
  "ingest/transports/websocket/frame-connection": [1, "limit: inFlightMessagesMax"],
  "ingest/transports/websocket/frame-link": [3, "limit: looksMax"],
  "ingest/transports/websocket/frame-relay": [1, "limit: unauthenticatedBytesMax"],
  "ingest/transports/websocket/passing-on": [1, "limit: connectionsMax"],
  "ingest/transports/websocket/transport": [3, "limit: connectionsMax"],
  "ingest/uplinks/repeats": [8, "awaits"],
  "ingest/access/admission": [3, "limit: connectionsMax"],
  "ingest/directory/access-feed": [6, "yields"],
  "ingest/directory/carried-devices": [1, "taken"],
  "ingest/envelopes/envelopes": [8, "yields"],
  "ingest/envelopes/replaced": [4, "yields"],
  "ingest/consumers/point-writer": [2, "awaits"],
  "ingest/alerts/offline": [1, "awaits"],
  "ingest/consumers/replay": [5, "awaits"],
  "ingest/followers/follower": [2, "yields"],
  "ingest/alerts/device-states": [5, "limit: statesMax"],
  "ingest/alerts/journal-records": [2, "limit: walkBufferBytes"],
  "ingest/alerts/record-effects": [1, "limit: payloadBytesMax"],
  "ingest/alerts/state-statements": [3, "yields"],
  "ingest/alerts/state-writer": [1, "yields"],
  "ingest/alerts/write-loop": [1, "awaits"],
  "ingest/access/credentials": [1, "long"],
  "ingest/decode/bare-json": [1, "limit: payloadBytesMax"],
  "ingest/decode/binary": [5, "limit: payloadBytesMax"],
  "ingest/decode/cbor": [3, "limit: payloadBytesMax"],
  "ingest/decode/cbor-plain": [1, "limit: payloadBytesMax"],
  "ingest/decode/flat-keys": [2, "limit: keyBytesMax"],
  "ingest/decode/json-fault": [10, "limit: payloadBytesMax"],
  "ingest/decode/utf8": [1, "limit: payloadBytesMax"],
  "ingest/decode/repeated-names": [4, "limit: payloadBytesMax"],
  "ingest/decode/senml-units": [4, "constant"],
  "ingest/decode/flat-json": [7, "limit: payloadBytesMax"],
  "ingest/decode/formats": [1, "constant"],
  "ingest/decode/json": [6, "limit: payloadBytesMax"],
  "ingest/decode/points": [4, "limit: payloadBytesMax"],
  "ingest/decode/raw-member": [3, "limit: lineBytesMax"],
  "ingest/decode/senml": [6, "limit: payloadBytesMax"],
  "ingest/decode/exact-numbers": [9, "limit: payloadBytesMax"],
  "ingest/directory/entry-cache": [3, "limit: devicesMax"],
  "ingest/directory/entry-loader": [3, "awaits"],
  "ingest/directory/feed": [3, "yields"],
  "ingest/messages/filter-trie": [8, "limit: levelsMax"],
  "ingest/access/forwarded": [1, "limit: headerBytesMax"],
  "ingest/access/guess-counts": [2, "constant"],
  "ingest/access/limits": [7, "constant"],
  "ingest/live/memory": [2, "limit: listenersOfTenantMax"],
  "ingest/live/listeners": [2, "limit: listenersOfTenantMax"],
  "ingest/live/feed": [2, "limit: pointsMax"],
  "ingest/live/interests": [6, "limit: streamMembersMax"],
  "ingest/live/tenant-events": [2, "limit: refusalsLookedMax"],
  "ingest/live/tenant-feed": [3, "limit: pointsMax"],
  "ingest/live/topic-feed": [4, "limit: listenersOfTenantMax"],
  "src/explain/time-keys": [1, "limit: keyCharactersMax"],
  "src/explain/explain-payload": [3, "yields"],
  "src/explain/explain-entries": [2, "yields"],
  "ingest/decode/suggest": [3, "limit: keyCharactersMax"],
  "src/live/stream": [1, "yields"],
  "src/live/event-writer": [3, "limit: chunkBytesMax"],
  "src/live/watch": [3, "awaits"],
  "src/live/watch-alerts": [2, "limit: watchedMax"],
  "src/live/watch-commands": [2, "limit: watchedMax"],
  "src/live/watched": [1, "limit: watchedMax"],
  "ingest/live/log": [3, "limit: deviceBytesMax"],
  "ingest/messages/platform-subscriptions": [2, "limit: platformBytesMax"],
  "ingest/policies": [2, "limit: levelsMax"],
  "ingest/directory/presence": [5, "awaits"],
  "ingest/access/verified-logins": [1, "constant"],
  "ingest/access/proxies": [1, "limit: headerBytesMax"],
  "ingest/consumers/redecode": [2, "yields"],
  "ingest/consumers/redecode-compare": [6, "limit: readPointsMax"],
  "ingest/uplinks/redelivery": [1, "awaits"],
  "ingest/sessions/eviction": [4, "yields"],
  "ingest/sessions/lifecycle": [1, "limit: outgoingMessagesMax"],
  "ingest/sessions/subscribing": [4, "limit: platformBytesMax"],
  "ingest/sandbox/sandbox": [3, "worker"],
  "ingest/sessions/changes": [7, "long"],
  "ingest/sessions/delivery": [5, "limit: retainedMessagesMax"],
  "ingest/sessions/deleted": [2, "startup"],
  "ingest/sessions/downlink-records": [3, "limit: recipientsMax"],
  "ingest/sessions/downlinks": [1, "limit: sessionsPerDeviceMax"],
  "ingest/sessions/held-bytes": [5, "limit: sessionsPerDeviceMax"],
  "ingest/sessions/pending-receipts": [5, "startup"],
  "ingest/sessions/message-queues": [3, "limit: outgoingMessagesMax"],
  "ingest/sessions/pending-wills": [3, "long"],
  "ingest/sessions/connections": [6, "yields"],
  "ingest/sessions/connection-records": [2, "startup"],
  "ingest/sessions/records": [3, "yields"],
  "ingest/sessions/subscription-records": [2, "limit: subscriptionsMax"],
  "ingest/sessions/remembered-topics": [1, "taken"],
  "ingest/sessions/replay": [1, "startup"],
  "ingest/sessions/snapshot": [9, "long"],
  "ingest/sessions/session-registry": [3, "yields"],
  "ingest/sessions/subscriptions": [3, "limit: subscriptionsMax"],
  "ingest/sessions/weights": [2, "limit: propertiesBytesMax"],
  "ingest/sessions/wills": [2, "awaits"],
  "ingest/messages/topics": [3, "limit: topicLengthMax"],
  "ingest/transports/broker/inbound": [1, "yields"],
  "ingest/transports/broker/ordered-acks": [1, "limit: receiveMaximum"],
  "ingest/transports/broker/outbound": [3, "limit: outgoingMessagesMax"],
  "ingest/transports/broker/packets": [1, "constant"],
  "ingest/transports/broker/redelivery": [2, "awaits"],
  "ingest/transports/mqtt/connection/mqtt-client": [4, "yields"],
  "ingest/transports/mqtt/codec/decode": [2, "limit: filtersPerPacketMax"],
  "ingest/transports/mqtt/connection/deliveries": [2, "yields"],
  "ingest/transports/mqtt/listeners/endpoint": [5, "limit: connectionsMax"],
  "ingest/transports/mqtt/codec/framing": [2, "limit: packetBytesMax"],
  "ingest/transports/mqtt/connection/inbound": [1, "taken"],
  "ingest/transports/mqtt/codec/properties": [1, "limit: propertiesBytesMax"],
  "ingest/transports/sockets/proxy-layer": [1, "limit: connectionsMax"],
  "ingest/transports/mqtt/codec/publish-packet": [1, "constant"],
  "ingest/transports/mqtt/codec/reader": [1, "constant"],
  "ingest/transports/mqtt/connection/reading": [1, "yields"],
  "ingest/transports/mqtt/connection/subscribing": [1, "limit: filtersPerPacketMax"],
  "ingest/transports/sockets/tls": [1, "limit: connectionsMax"],
  "ingest/transports/sockets/handshake-semaphore": [2, "limit: connectionsMax"],
  "ingest/transports/mqtt/listeners/websocket": [1, "limit: connectionsMax"],
  "ingest/alerts/evaluate": [14, "yields"],
  "ingest/alerts/geofence": [5, "long"],
  "ingest/alerts/compiled-rules": [2, "yields"],
  "ingest/alerts/rule-state": [1, "limit: alertRulesMax"],
  "ingest/uplinks/work-budget": [4, "yields"],
  "query/downsample": [5, "limit: pointsExactMax"],
  "query/fill": [2, "limit: windowsMax"],
  "query/formula/formula": [1, "constant"],
  "query/formula/arithmetic": [1, "limit: formulaCharactersMax"],
  "query/formula/code": [1, "constant"],
  "query/formula/parse": [2, "limit: formulaCharactersMax"],
  "query/formula-series": [5, "yields"],
  "query/instants": [3, "yields"],
  "query/thinned-formula": [1, "awaits"],
  "src/alerts/backtest-rule": [1, "awaits"],
  "ingest/alerts/backtest": [2, "limit: operandsMax"],
  "query/formula/spelling": [1, "constant"],
  "query/formula/signed-numbers": [4, "limit: formulaCharactersMax"],
  "query/metrics": [1, "awaits"],
  "query/newest": [3, "limit: textsAtOnce"],
  "query/original": [2, "limit: answerValuesMax"],
  "query/points": [4, "awaits"],
  "query/track": [3, "awaits"],
  "query/windows": [4, "limit: windowsMax"],
  "query/zone": [2, "constant"],
  "src/alerts/alert-retention": [3, "yields"],
  "src/brokers/mosquitto": [7, "awaits"],
  "src/config/config": [3, "startup"],
  "src/commands/commands": [2, "awaits"],
  "src/commands/cron": [4, "limit: cronLengthMax"],
  "src/commands/due-runs": [3, "yields"],
  "src/commands/group-publish": [3, "yields"],
  "src/commands/issued": [4, "yields"],
  "src/commands/receipts": [3, "awaits"],
  "src/commands/scheduler": [2, "yields"],
  "src/commands/in-flight-bytes": [1, "limit: waitingBytesMax"],
  "src/demo/archive": [1, "startup"],
  "src/demo/demo": [3, "startup"],
  "src/demo/edge-node": [1, "startup"],
  "src/demo/service": [1, "startup"],
  "src/demo/station": [2, "startup"],
  "src/import-export/points/csv-rows": [4, "limit: rowBytesMax"],
  "src/import-export/points/csv-taker": [3, "limit: batchPointsMax"],
  "src/import-export/points/csv-targets": [1, "limit: columnsMax"],
  "src/import-export/points/export-pieces": [2, "limit: columnsMax"],
  "src/import-export/points/export-stream": [1, "awaits"],
  "src/import-export/points/export.worker": [4, "worker"],
  "src/import-export/points/import.worker": [1, "worker"],
  "src/import-export/points/ndjson-taker": [4, "limit: batchPointsMax"],
  "src/import-export/points/read-history": [3, "awaits"],
  "src/import-export/points/row-writers": [2, "worker"],
  "src/import-export/points/series-batch": [1, "limit: batchPointsMax"],
  "src/import-export/points/target-cache": [4, "limit: batchPointsMax"],
  "src/import-export/points/targets": [4, "awaits"],
  "src/import-export/points/text-source": [1, "awaits"],
  "src/import-export/points/times": [1, "limit: batchPointsMax"],
  "src/cli/points-tools": [1, "startup"],
  "src/import-export/points/transport": [1, "awaits"],
  "src/import-export/points/values": [1, "limit: batchPointsMax"],
  "src/import-export/points/write-rows": [8, "worker"],
  "src/http/response-budget": [1, "limit: pageBytesMax"],
  "src/http/credential-cache": [3, "taken"],
  "src/http/json-cost": [2, "limit: jsonBytesMax"],
  "src/http/chunks": [2, "limit: chunkBytesMax"],
  "src/http/fields": [4, "limit: jsonBytesMax"],
  "src/http/json-stream": [6, "yields"],
  "src/http/conditional-response": [2, "yields"],
  "src/http/frame": [2, "startup"],
  "src/http/json-depth": [1, "limit: jsonLevelsMax"],
  "src/http/list-query": [4, "constant"],
  "src/http/paging": [2, "yields"],
  "src/http/parallel": [1, "awaits"],
  "src/http/text-search": [4, "limit: patternCharactersMax"],
  "src/http/upload": [2, "constant"],
  "src/host/lock": [4, "startup"],
  "src/host/metadata": [1, "startup"],
  "src/main": [1, "startup"],
  "src/program": [1, "startup"],
  "src/service/event-retention": [1, "awaits"],
  "src/service/maintenance": [4, "yields"],
  "src/service/mqtt-listeners": [5, "startup"],
  "src/host/build-info": [1, "constant"],
  "src/reference/device-operations": [2, "startup"],
  "src/reference/close-schemas": [7, "startup"],
  "src/reference/document": [7, "startup"],
  "src/reference/examples": [3, "startup"],
  "src/reference/headers": [5, "startup"],
  "src/reference/operation-ids": [1, "startup"],
  "src/background/removals": [5, "yields"],
  "src/routes/alert-rules": [1, "constant"],
  "src/routes/api-keys": [1, "limit: idsMax"],
  "src/routes/broker-access": [1, "limit: pageLimitMax"],
  "src/routes/data-answers": [1, "awaits"],
  "src/routes/original-data": [2, "awaits"],
  "src/routes/data-export": [1, "limit: streamsMax"],
  "src/routes/data-query": [1, "limit: devicesMax"],
  "src/devices/create-once-free": [1, "awaits"],
  "src/devices/draft": [3, "constant"],
  "src/routes/device-live": [3, "yields"],
  "src/bulk/acts": [3, "awaits"],
  "src/bulk/bulk-kind": [1, "awaits"],
  "src/bulk/children-first": [4, "yields"],
  "src/bulk/members": [1, "awaits"],
  "src/bulk/send": [1, "yields"],
  "src/routes/bulk": [1, "constant"],
  "store/metadata/commands/bulk-actions": [1, "awaits"],
  "src/devices/fleet-values": [5, "yields"],
  "src/devices/rules": [2, "limit: jsonBytesMax"],
  "src/routes/gateway-data": [1, "limit: pageLimitMax"],
  "src/routes/ingest-status": [2, "limit: devicesMax"],
  "src/routes/live-replay": [6, "awaits"],
  "src/routes/metrics": [1, "constant"],
  "src/routes/product-ref": [1, "limit: idsMax"],
  "src/routes/shown-devices": [2, "awaits"],
  "src/routes/users": [1, "limit: idsMax"],
  "src/service/dead-letters": [4, "constant"],
  "src/journal-lists/cluster-list": [3, "limit: rowsMax"],
  "src/service/journal-log": [1, "startup"],
  "src/server/connection-pool": [3, "limit: connectionsMax"],
  "src/service/server-identity": [3, "constant"],
  "src/server/http-connection": [2, "yields"],
  "src/service/checks": [1, "constant"],
  "src/service/pipelines": [2, "constant"],
  "src/service/servers": [2, "constant"],
  "src/service/shard": [2, "awaits"],
  "src/service/moving-shards": [3, "limit: nodesMax"],
  "src/service/moving-crash-marks": [1, "awaits"],
  "store/lib/closers": [1, "awaits"],
  "store/lib/listeners": [1, "limit: JOURNAL_SHARDS"],
  "src/service/storage": [1, "awaits"],
  "src/service/refill": [2, "awaits"],
  "src/service/trial/session-context": [2, "awaits"],
  "src/service/trial/trial.worker": [1, "worker"],
  "src/tasks/run-task": [1, "awaits"],
  "src/tasks/runner": [2, "awaits"],
  "src/cli/tools": [1, "startup"],
  "src/import-export/devices/check-file": [1, "awaits"],
  "src/import-export/devices/csv-file": [3, "awaits"],
  "src/import-export/devices/device-columns": [1, "limit: cellCharactersMax"],
  "src/import-export/devices/export-devices": [2, "awaits"],
  "src/import-export/devices/import-devices": [7, "awaits"],
  "src/import-export/devices/import-rows": [3, "limit: cellCharactersMax"],
  "src/import-export/devices/row-errors": [1, "limit: errorsListedMax"],
  "src/import-export/devices/xlsx-cells": [1, "limit: cellCharactersMax"],
  "src/import-export/devices/xlsx-file": [2, "awaits"],
  "src/import-export/devices/xlsx-package": [1, "awaits"],
  "src/import-export/devices/xlsx-writer": [3, "awaits"],
  "src/import-export/devices/xml-events": [3, "awaits"],
  "store/series/aggregation": [7, "limit: windowsMax"],
  "store/metadata/alerts/alerts": [2, "yields"],
  "store/metadata/products/app-templates": [1, "limit: defaultValuesMax"],
  "store/series/arithmetic": [12, "limit: answerValuesMax"],
  "store/metadata/db/bounded-list": [7, "yields"],
  "store/metadata/devices/broker-devices": [2, "yields"],
  "store/metadata/db/change-retention": [7, "yields"],
  "store/metadata/db/changes": [2, "yields"],
  "store/metadata/db/connection/local-thread": [1, "taken"],
  "store/metadata/db/connection/exit-gates": [2, "startup"],
  "store/metadata/db/connection/local-threads": [1, "taken"],
  "store/metadata/db/connection/rows-text": [4, "yields"],
  "store/metadata/db/fts-flush": [2, "taken"],
  "store/metadata/db/containing": [3, "limit: patternCharactersMax"],
  "store/metadata/commands/control-log-bytes": [1, "limit: rowsOfTenantMax"],
  "store/metadata/commands/control-logs": [1, "limit: changesPerWrite"],
  "store/lib/iso-time": [2, "limit: payloadBytesMax"],
  "store/lib/crc32": [2, "limit: chunkTextBytesMax"],
  "store/lib/crc32c": [5, "limit: recordBytesLimit"],
  "store/lib/retry": [2, "taken"],
  "store/files/database-check.child": [2, "worker"],
  "store/files/database-file": [2, "startup"],
  "store/metadata/devices/access": [1, "limit: bindingsShownMax"],
  "store/metadata/devices/columns": [1, "constant"],
  "store/metadata/devices/import": [3, "awaits"],
  "store/metadata/devices/names": [1, "awaits"],
  "store/series/embedded/batch": [2, "limit: batchPointsMax"],
  "store/series/embedded/calls": [1, "taken"],
  "store/series/embedded/catalog": [2, "worker"],
  "store/series/embedded/catalog-file": [3, "worker"],
  "store/series/embedded/catalog-rebuild": [7, "worker"],
  "store/series/embedded/checkpoints": [1, "constant"],
  "store/series/embedded/catalog-schema": [1, "constant"],
  "store/series/embedded/checksums": [1, "limit: chunkPointsMax"],
  "store/series/embedded/chunks": [6, "limit: chunkPointsMax"],
  "store/series/embedded/columns": [6, "limit: readPointsMax"],
  "store/series/embedded/fetch": [6, "awaits"],
  "store/series/embedded/flush": [7, "worker"],
  "store/series/embedded/series-set": [2, "worker"],
  "store/series/embedded/intake": [3, "worker"],
  "store/series/embedded/memtable": [4, "worker"],
  "store/series/embedded/repair": [1, "worker"],
  "store/series/embedded/names": [1, "constant"],
  "src/backup/verify-folder": [2, "startup"],
  "store/journal/verify": [2, "startup"],
  "store/series/embedded/verify": [6, "startup"],
  "store/series/embedded/names-log": [2, "startup"],
  "store/series/embedded/open-files": [2, "awaits"],
  "store/series/embedded/part-list": [2, "worker"],
  "store/series/embedded/parts": [2, "worker"],
  "store/series/embedded/queries": [2, "awaits"],
  "store/series/embedded/reader": [1, "awaits"],
  "store/series/embedded/readers": [1, "constant"],
  "store/series/embedded/registry": [1, "worker"],
  "store/series/embedded/scrub": [1, "worker"],
  "store/series/embedded/removal": [3, "worker"],
  "store/series/embedded/salvage": [5, "worker"],
  "store/series/embedded/spans": [1, "worker"],
  "store/series/embedded/sqlite": [1, "constant"],
  "store/series/embedded/text-runs": [2, "worker"],
  "store/series/embedded/writer": [3, "worker"],
  "store/series/embedded/chunk-rows": [2, "limit: readPointsMax"],
  "store/series/embedded/housekeeping": [3, "worker"],
  "store/series/embedded/lookup": [2, "worker"],
  "store/series/embedded/part-buffers": [4, "worker"],
  "store/series/embedded/read-aggregate": [1, "awaits"],
  "store/series/embedded/read-latest": [4, "awaits"],
  "store/series/embedded/retention": [2, "worker"],
  "store/series/embedded/writer-files": [3, "worker"],
  "store/series/embedded/catalog-names": [2, "worker"],
  "store/events/event-index": [4, "awaits"],
  "store/events/event-sequence": [5, "awaits"],
  "store/events/merge-newest": [2, "awaits"],
  "store/events/merged-rows": [2, "yields"],
  "store/events/merged-start": [4, "limit: eventRetentionBytes"],
  "store/events/event-postings": [1, "limit: segmentBytesMax"],
  "store/events/event-reading": [6, "awaits"],
  "store/events/segment-counts": [1, "taken"],
  "store/events/segment-indexing": [5, "awaits"],
  "store/events/event-pages": [8, "yields"],
  "store/events/event-source": [11, "awaits"],
  "store/series/extremes": [1, "limit: answerValuesMax"],
  "store/lib/fair-queue": [4, "awaits"],
  "store/metadata/search-hits": [3, "limit: deviceMatchesMax"],
  "store/metadata/fleet/fleet": [2, "awaits"],
  "store/metadata/fleet/matches": [2, "awaits"],
  "store/metadata/groups/groups": [1, "limit: pageLimitMax"],
  "store/metadata/devices/history-devices": [2, "awaits"],
  "store/metadata/db/ids": [1, "constant"],
  "store/series/sharded/merge": [5, "limit: readPointsMax"],
  "store/series/sharded/open": [1, "limit: batchPointsMax"],
  "store/series/sharded/queries": [3, "awaits"],
  "store/metadata/devices/topmost": [2, "awaits"],
  "src/config/influx": [1, "startup"],
  "store/series/influx/point-batch": [1, "limit: batchPointsMax"],
  "store/series/influx/checkpoint": [3, "taken"],
  "store/series/influx/client": [4, "awaits"],
  "store/series/influx/conflicts": [7, "limit: batchPointsMax"],
  "store/series/influx/csv": [8, "yields"],
  "store/series/influx/flux": [1, "limit: queriesAtOnce"],
  "store/series/influx/line-bytes": [5, "limit: batchPointsMax"],
  "store/series/influx/lines": [3, "yields"],
  "store/series/influx/open": [1, "awaits"],
  "store/series/influx/newest": [9, "awaits"],
  "store/series/influx/queries": [4, "awaits"],
  "store/series/influx/reading": [6, "awaits"],
  "store/series/influx/removal": [5, "awaits"],
  "store/series/influx/retention": [1, "awaits"],
  "store/series/influx/scan": [2, "awaits"],
  "store/series/influx/write-around-bad-lines": [1, "limit: batchPointsMax"],
  "store/series/influx/text-columns": [1, "taken"],
  "store/series/influx/texts": [3, "awaits"],
  "store/series/influx/windows": [3, "limit: windowsMax"],
  "store/series/influx/conflict-register": [3, "limit: batchPointsMax"],
  "store/time-zones/folder": [1, "startup"],
  "store/time-zones/packed": [3, "limit: lastYear"],
  "store/time-zones/posix-rule": [1, "limit: lastYear"],
  "store/time-zones/rules": [1, "limit: lastYear"],
  "store/time-zones/tzif": [1, "limit: fileBytesMax"],
  "store/journal/journal": [3, "yields"],
  "store/journal/batch": [6, "yields"],
  "store/journal/commit-waiters": [1, "taken"],
  "store/journal/retrying-writer": [1, "awaits"],
  "store/journal/record-buffers": [1, "limit: pooledMax"],
  "store/journal/reader": [3, "awaits"],
  "store/journal/frame": [2, "limit: recordBytesLimit"],
  "store/journal/recover": [2, "startup"],
  "store/journal/scan": [2, "limit: headsPerCall"],
  "store/journal/segment": [5, "startup"],
  "store/journal/shared-topics": [1, "limit: envelopesMax"],
  "store/journal/stamps": [3, "limit: runsMax"],
  "store/journal/tail": [3, "limit: tailBytesMax"],
  "store/journal/topics": [1, "awaits"],
  "store/journal/walk": [3, "awaits"],
  "store/journal/durable-file": [2, "awaits"],
  "store/journal/writer": [1, "awaits"],
  "store/metadata/db/migrations": [1, "startup"],
  "store/lib/single-flight": [1, "awaits"],
  "store/lib/semaphore": [1, "taken"],
  "store/mqtt-sessions/journal-snapshot": [8, "awaits"],
  "store/mqtt-sessions/packed-statement": [1, "limit: rowsPerStatement"],
  "store/mqtt-sessions/read-rows": [1, "yields"],
  "store/mqtt-sessions/session-file-thread": [1, "yields"],
  "store/mqtt-sessions/statements": [10, "limit: rowsPerStatement"],
  "store/metadata/policies/policies": [1, "limit: pageLimitMax"],
  "store/metadata/products/products": [1, "limit: pageLimitMax"],
  "store/metadata/quarantine": [1, "awaits"],
  "store/metadata/db/referrers": [8, "yields"],
  "store/lib/record-cache": [4, "taken"],
  "store/metadata/removals": [1, "yields"],
  "store/lib/round-robin": [1, "taken"],
  "store/journal/dead-letters": [3, "taken"],
  "store/metadata/db/steps": [1, "yields"],
  "store/metadata/db/search": [2, "awaits"],
  "store/metadata/db/search-rows": [3, "awaits"],
  "store/metadata/db/table": [3, "awaits"],
  "store/lib/text-bytes": [1, "limit: answerValuesMax"],
  "store/lib/scheduling": [1, "yields"],
  "store/lib/versions": [2, "taken"],
  "store/metadata/db/write-queue": [6, "awaits"],
};

const root = join(import.meta.dirname, "..", "..");
const files = ["src", "ingest", "query", "store"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name))
    // What a browser runs holds up nobody else.
    .filter((file) => !file.startsWith(join("src", "console", "app"))),
);
const nameOf = (file: string): string => file.slice(0, -".js".length);
const loopTypes: ReadonlySet<string> = new Set([
  ...["ForStatement", "ForOfStatement", "ForInStatement", "WhileStatement", "DoWhileStatement"],
]);
const importTypes: ReadonlySet<string> = new Set([
  ...["ImportDeclaration", "ExportNamedDeclaration", "ExportAllDeclaration", "ImportExpression"],
]);

interface Read {
  readonly text: string;
  loops: number;
  awaits: boolean;
  /** Files that it imports, also later. */
  readonly imports: string[];
  /** What it takes from store/lib/scheduling. */
  readonly turns: string[];
}

/** Every node of a syntax tree, with its fields. */
function* nodesOf(value: unknown): Generator<Node & Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) for (const one of value) yield* nodesOf(one);
  else if (typeof value === "object" && value !== null && "type" in value) {
    yield value as Node & Readonly<Record<string, unknown>>;
    for (const field of Object.values(value)) if (typeof field === "object") yield* nodesOf(field);
  }
}

function read(file: string, text: string): Read {
  const found: Read = { text, loops: 0, awaits: false, imports: [], turns: [] };
  for (const node of nodesOf(parse(text, { ecmaVersion: "latest", sourceType: "module" }))) {
    if (loopTypes.has(node.type)) found.loops++;
    if (node.type === "AwaitExpression" || node.await === true) found.awaits = true;
    const source = (node.source as { value?: unknown } | null | undefined)?.value;
    if (!importTypes.has(node.type) || typeof source !== "string" || !source.startsWith(".")) continue;
    const target = join(dirname(file), source);
    found.imports.push(target);
    const names = (node.specifiers ?? []) as { imported?: { name?: string } }[];
    if (target === join("store", "lib", "scheduling.js"))
      found.turns.push(...names.map((one) => one.imported?.name ?? ""));
  }
  return found;
}

const sources = new Map(files.map((file) => [file, read(file, readFileSync(join(root, file), "utf8"))]));

function reachedFrom(start: string): Set<string> {
  const reached = new Set([start]);
  for (const file of reached) for (const next of sources.get(file)?.imports ?? []) reached.add(next);
  return reached;
}

const ofMain = reachedFrom(join("src", "main.js"));
const yielding: ReadonlySet<string> = new Set([
  ...["createSlice", "createYielder", "createPacer", "forEachInSlices", "mapInSlices", "nextTurn"],
]);
const names = new Set([...sources.values()].flatMap(({ text }) => text.match(/[A-Za-z_]\w*/g) ?? []));

/** Why the reason does not hold for the file; null: it does. */
function faultOf(file: string, bound: string): string | null {
  const name = nameOf(file);
  const { awaits = false, turns = [] } = sources.get(file) ?? {};
  if (bound.startsWith("limit: ")) {
    const limit = bound.slice("limit: ".length);
    return names.has(limit) ? null : `nothing is called ${limit}`;
  }
  switch (bound) {
    case "yields":
      return name === "store/lib/scheduling" || turns.some((one) => yielding.has(one))
        ? null
        : "it takes nothing from store/lib/scheduling that lets others in";
    case "awaits":
      return awaits ? null : "it waits for nothing";
    case "worker":
      return ofMain.has(file) ? "src/main comes to it" : null;
    case "long":
      return name in longer ? null : "`longer` does not say why";
    case "startup":
    case "constant":
    case "taken":
      return null;
    default:
      return `there is no reason called ${bound}`;
  }
}

const advice =
  "Look at the loops of the file. One over what comes from outside needs a bound, or lets others in by store/lib/scheduling.ts; then say in test/security/loops.test.ts how many there are and what bounds them.";

suite("every loop", (test) => {
  test("the looking finds loops of each kind, wherever they stand", () => {
    const text = `import { nextTurn } from "../../store/lib/scheduling.js";
      export class A { #b = () => { for (;;) break; }; static { while (x) y(); } }
      const f = async () => { for await (const a of b) { do { } while (a); } for (const k in o) for (const v of o); };
      const text = "for (;;) while"; // for (;;)
      all.forEach((one) => one);`;
    const found = read("ingest/sessions/any.js", text);
    assert.equal([found.loops, found.awaits, found.turns], [6, true, ["nextTurn"]]);
    assert.equal(found.imports, [join("store", "lib", "scheduling.js")]);
  });

  test("stands in the list, with what bounds it", () => {
    const faults: string[] = [];
    for (const [file, { loops }] of sources) {
      const [listed = 0, bound = ""] = known[nameOf(file)] ?? [];
      if (loops !== listed)
        faults.push(`${nameOf(file)} has ${loops} loops, and ${listed} are listed. ${advice}`);
      const fault = loops > 0 && listed > 0 ? faultOf(file, bound) : null;
      if (fault !== null) faults.push(`${nameOf(file)}: "${bound}", but ${fault}. ${advice}`);
    }
    for (const name of Object.keys(known)) {
      if (!sources.has(`${name}.js`)) faults.push(`${name} is listed and is no file any more`);
    }
    for (const name of Object.keys(longer)) {
      if (known[name]?.[1] !== "long")
        faults.push(`${name} is not listed as long any more: take its reason away`);
    }
    assert.equal(faults, []);
  });

  test("a reason that does not hold is found", () => {
    const wrong = [
      ["ingest/messages/topics.js", "yields"],
      ["ingest/messages/topics.js", "awaits"],
      ["ingest/messages/topics.js", "worker"],
      ["ingest/messages/topics.js", "long"],
      ["ingest/messages/topics.js", "limit: nobodyHasCalledItSo"],
      ["ingest/messages/topics.js", "short"],
    ] as const;
    for (const [file, bound] of wrong) assert.ok(faultOf(file, bound), bound);
    assert.is(faultOf("ingest/alerts/state-statements.js", "yields"), null);
    assert.is(faultOf("store/series/embedded/writer.js", "worker"), null);
  });
});
