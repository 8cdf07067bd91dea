"""The team's extractor before it had a model: rules, no network, no key.

The invoice rules take their labels from the prompt (`- total: the amount after "Total due"`), so that a change
of the prompt changes what is extracted, as it would with a model.
"""

import re

LABEL = re.compile(r'^- (\w+): the (text|amount) after "(.+)"$', re.MULTILINE)
PRICE = r"\d+\.\d\d"  # tells a row from other lines: between columns, a PDF's text may have a single space
ROW = re.compile(rf"^(?P<description>\S.*?)\s+(?P<quantity>\d+)\s+(?P<unit_price>{PRICE})\s+(?P<amount>{PRICE})$")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*$")


def read_invoice(text, prompt):
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    invoice = {"vendor": {"name": lines[0], "address": lines[1]}, "items": read_rows(lines)}
    for name, kind, label in LABEL.findall(prompt):
        value = after(lines, label)
        if value is None:
            continue
        invoice[name] = float(NUMBER.search(value)[1]) if kind == "amount" else value
    if 'currency: the code before the amount after "Total due"' in prompt:
        invoice["currency"] = after(lines, "Total due").split()[0]
    return invoice


def read_rows(lines):
    rows = []
    for line in lines:
        if found := ROW.match(line):
            row = {key: float(value) for key, value in found.groupdict().items() if key != "description"}
            rows.append({"description": found["description"], **row})
        elif line.strip().startswith("serial:") and rows:
            rows[-1].setdefault("serials", []).append(line.split(":", 1)[1].strip())
    return rows


def after(lines, label):
    for line in lines:
        if line.startswith(label):
            return line[len(label) :].strip()
    return None


def read_report(text):
    report = {"title": "", "period": "", "sections": []}
    for line in text.splitlines():
        if line.startswith("# "):
            report["title"] = line[2:]
        elif line.startswith("Period: "):
            report["period"] = line.removeprefix("Period: ")
        elif line.startswith("Prepared by: "):
            report["author"] = line.removeprefix("Prepared by: ")
        elif line.startswith("## "):
            report["sections"].append({"heading": line[3:], "metrics": []})
        elif line.startswith("| ") and not line.startswith("| Metric"):
            name, value, unit = (cell.strip() for cell in line.strip("|").split("|"))
            report["sections"][-1]["metrics"].append({"name": name, "value": float(value), "unit": unit})
    return report


def read_page(html):
    price = re.search(r'class="price">Price: ([A-Z]{3}) ([\d.]+)', html)
    return {
        "name": re.search(r"<h1>(.+?)</h1>", html)[1],
        "price": float(price[2]),
        "currency": price[1],
        "available": "In stock" in html,
        "specs": [{"name": name, "value": value} for name, value in re.findall(r"<th>(.+?)</th><td>(.+?)</td>", html)],
        "reviews": [
            {"author": author, "stars": int(stars), "text": text.replace("&amp;", "&")}
            for author, stars, text in re.findall(r"<b>(.+?)</b> (\d) stars: (.+?)</li>", html)
        ],
    }
