"""Writes files of devices as their users do: workbooks by openpyxl, CSV in the encodings of Windows by codecs.

Arguments: a folder, the productID, a mark that all deviceIDs begin with. Prints the names of the files.
"""
import codecs
import sys
from pathlib import Path

import openpyxl

folder, product, mark = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
header = ["Device Name", "DEVICEID", " deviceName ", "DeviceType", "productid", "cloudProtocol", "upLinkSystem", "authType"]
header += ["IMEI", "imsi", "serialNumber", "softVersion", "hardwareVersion", "Latitude", "Remarks", None]


def row(name, **more):
    fields = {"DEVICEID": f"{mark}-{name}", " deviceName ": f"{mark} {name}", "DeviceType": 1, "productid": product}
    fields.update({"cloudProtocol": 1, "upLinkSystem": 1, "authType": 1}, **more)
    return [fields.get(column) for column in header]


def workbook(name, rows, zeros=()):
    book = openpyxl.Workbook()
    lists = book.active
    lists.title = "lists"
    lists.append(["x"])
    lists.sheet_state = "hidden"
    book.create_sheet("codes").sheet_state = "veryHidden"
    sheet = book.create_sheet("Devices")
    sheet.append(header)
    for cells in rows:
        sheet.append(cells)
    for cell in zeros:
        sheet[cell].number_format = "000000"
    book.save(folder / name)


good = row("good", IMEI=860123000000000, imsi=460001234567890, serialNumber="89882806660000547523")
good[header.index("softVersion")] = 1.1
good[header.index("hardwareVersion")] = 12.0
good[header.index("Latitude")] = 54.6872
good[header.index("Remarks")] = "roof"
good[-1] = "no title"
padded = row("padded", serialNumber=12)
workbook("good.xlsx", [good, padded], ["K3"])
wrong = [
    row("a", DEVICEID=12345678901234567890),
    row("b", serialNumber=89882806660000547523),
    row("c", **{" deviceName ": "#N/A"}),
    row("d", IMEI=86012300),
    row("e", IMEI=860123000000000.5),
    row("f", serialNumber='="x"&1'),
    row("g", imsi="4.60001E+14"),
    row("h", IMEI=3569380356438090),
]
workbook("wrong.xlsx", wrong)


def table(delimiter, rows):
    return "\r\n".join(delimiter.join("" if cell is None else str(cell) for cell in cells) for cells in rows) + "\r\n"


comma = row("comma")
comma[header.index("Latitude")] = "54,6872"
comma[header.index("softVersion")] = "1,5"
accent = row("Zürich 设备")
for name, delimiter, encoding, start in (
    ("semicolons.csv", ";", "utf-8-sig", "sep=;\r\n"),
    ("tabs.csv", "\t", "utf-16", ""),
    ("big-endian.csv", ";", "utf-16-be", "\ufeff"),
    ("bars.csv", "|", "utf-8", "sep=|\n"),
):
    lines = [list(cells) for cells in (comma, accent)]
    for n, cells in enumerate(lines):
        cells[1] = f"{mark}-{name}-{n}"
        cells[2] = f"{cells[2]} {name}"
    text = start + table(delimiter, [header, *lines])
    codecs.open(folder / name, "w", encoding).write(text)
