"""Speaks one version of MQTT with paho: paho_client.py <host> <port> <version 3|4|5> <user> <token>. Prints one JSON line."""

import json
import queue
import sys

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

host, port, version, user, token = sys.argv[1:]
five = version == "5"
wait_seconds = 10


def open_client(client_id):
    """A connected client and the queue of what happens to it."""
    happened = queue.Queue()
    protocol = {"3": mqtt.MQTTv31, "4": mqtt.MQTTv311, "5": mqtt.MQTTv5}[version]
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, protocol=protocol)
    client.username_pw_set(user, token)
    client.on_connect = lambda c, u, flags, reason, props: happened.put(("connect", reason))
    client.on_subscribe = lambda c, u, mid, reasons, props: happened.put(("subscribe", reasons))
    client.on_unsubscribe = lambda c, u, mid, reasons, props: happened.put(("unsubscribe", reasons))
    client.on_message = lambda c, u, message: happened.put(("message", message))
    client.on_disconnect = lambda c, u, flags, reason, props: happened.put(("disconnect", reason))
    client.connect(host, int(port), keepalive=5)
    client.loop_start()
    reason = wait(happened, "connect")
    if reason != 0:
        raise SystemExit(f"CONNECT was refused: {reason}")
    return client, happened


def wait(happened, kind):
    found, what = happened.get(timeout=wait_seconds)
    if found != kind:
        raise SystemExit(f"waited for {kind}, got {found}: {what}")
    return what


def describe(message):
    told = {
        "topic": message.topic,
        "payload": message.payload.decode(),
        "qos": message.qos,
        "retain": bool(message.retain),
    }
    if five:
        properties = message.properties
        told["pairs"] = getattr(properties, "UserProperty", [])
        told["contentType"] = getattr(properties, "ContentType", None)
        told["identifiers"] = getattr(properties, "SubscriptionIdentifier", [])
    return told


reader, heard = open_client("paho-reader")
if five:
    options = Properties(PacketTypes.SUBSCRIBE)
    options.SubscriptionIdentifier = 42
    reader.subscribe("paho/#", options=SubscribeOptions(qos=2), properties=options)
else:
    reader.subscribe("paho/#", 2)
granted = [reason.value for reason in wait(heard, "subscribe")]

sender, sent = open_client("paho-sender")
for qos in (0, 1, 2):
    properties = None
    if five:
        properties = Properties(PacketTypes.PUBLISH)
        properties.UserProperty = [("b", "1"), ("a", "2"), ("b", "3")]
        properties.ContentType = "text/plain"
    info = sender.publish(f"paho/{qos}", f"payload {qos}", qos=qos, properties=properties)
    info.wait_for_publish(wait_seconds)
messages = [describe(wait(heard, "message")) for _ in range(3)]
reader.unsubscribe("paho/#")
wait(heard, "unsubscribe")
for client, happened in ((reader, heard), (sender, sent)):
    client.disconnect()
    wait(happened, "disconnect")
    client.loop_stop()
print(json.dumps({"granted": granted, "messages": messages}))
