"""The client of InfluxDB 1 for Python: makes its database, writes, pings, and reads our errors."""
import json
import sys

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError

port, username, token = sys.argv[1:]


def client(password, **options):
    return InfluxDBClient("127.0.0.1", int(port), username, password, "plant", retries=1, **options)


own = client(token)
found = {"version": own.ping()}
own.create_database("plant")
own.create_retention_policy("week", "7d", "1", database="plant")
for precision, time in [("n", 1767225600000000000), ("u", 1767225601000000), ("ms", 1767225602000), ("s", 1767225603),
                        ("m", 29453761), ("h", 490896)]:
    point = {"measurement": "cpu", "tags": {"host": "a"}, "fields": {"usage": time % 97 / 2}, "time": time}
    assert own.write_points([point], time_precision=precision, protocol="json")
assert own.write_points(["cpu usage=7.5 1767225700"], time_precision="s", protocol="line", retention_policy="week")
packed = client(token, gzip=True)
assert packed.write_points([{"measurement": "cpu", "fields": {"usage": 8.5}, "time": 1767225800}], time_precision="s")


def refusal(action):
    try:
        action()
        return None
    except InfluxDBClientError as error:
        return [error.code, json.loads(error.content)["error"]]


found["wrong token"] = refusal(lambda: client("wrong").write_points(["cpu usage=1"], protocol="line"))
found["bad line"] = refusal(lambda: own.write_points(["cpu usage=1 1767225900", "cpu usage="], protocol="line",
                                                     time_precision="s"))
found["select"] = refusal(lambda: own.query("select * from cpu"))
print(json.dumps(found))
