"""Reads a workbook as its users do, with openpyxl (at once, and row by row) and with pandas; a warning is an error.

Prints {reader: rows}: the cells from A1 on as JSON has them, None for an empty one.
"""
import json
import sys
import warnings

import openpyxl
import pandas

warnings.simplefilter("error")
path = sys.argv[1]


def rows_of_openpyxl(read_only):
    book = openpyxl.load_workbook(path, read_only=read_only)
    rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    book.close()
    return rows


def rows_of_pandas():
    # As they stand: no header, and no text that is taken for a missing value.
    frame = pandas.read_excel(path, header=None, dtype=object, keep_default_na=False, na_filter=False)
    return [[None if cell == "" else cell for cell in row] for row in frame.values.tolist()]


print(
    json.dumps(
        {
            "openpyxl": rows_of_openpyxl(False),
            "openpyxl, row by row": rows_of_openpyxl(True),
            "pandas": rows_of_pandas(),
        }
    )
)
