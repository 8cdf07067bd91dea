"""One invoice as four services and a hand-written wrapper return it, written after their public manuals.

All hold the values of `BARE`, and what `_all` says of each of them.
"""

from __future__ import annotations

from typing import Any

_ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "amount": {"type": "number"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": "string"},
        "total": {"type": "number"},
        "due": {"type": ["string", "null"]},
        "items": {"type": "array", "items": _ITEM},
    },
}
BARE: dict[str, Any] = {
    "invoice_number": "US-001",
    "total": 154.06,
    "due": None,
    "items": [{"name": "Brake cables", "amount": 100}, {"name": "Pedal variants", "amount": 54.06}],
}


def _all(say: Any) -> dict[str, Any]:
    """Return what a service says of each value that is there: `say(value, confidence, quote, left)`, nested as `BARE`."""
    (cables, price), (variants, other) = (item.values() for item in BARE["items"])
    return {
        "invoice_number": say("US-001", 0.95, "Invoice # US-001", 0.5),
        "total": say(154.06, 0.9, "TOTAL $154.06", 0.5),
        "items": [
            {"name": say(cables, 0.9, "1 Brake cables", 0.1), "amount": say(price, 0.9, "100.00", 0.5)},
            {"name": say(variants, 0.9, "2 Pedal variants", 0.1), "amount": say(other, 0.6, "54.06", 0.5)},
        ],
    }


def _reducto(value: Any, confidence: float, quote: str, left: float) -> dict[str, Any]:
    block = {"type": "Text", "content": quote, "confidence": "high"}
    place = {"left": left, "top": 0.2, "width": 0.25, "height": 0.05, "page": 1, "original_page": 1}
    scores = {"extract_confidence": confidence, "parse_confidence": 0.91}
    return {"value": value, "citations": [{**block, "bbox": place, "granular_confidence": scores}]}


REDUCTO = {
    "job_id": "9531166f",
    "usage": {"num_pages": 1, "num_fields": 7},
    "result": {**_all(_reducto), "due": {"value": None, "citations": []}},
}


def _extend(_value: Any, confidence: float, quote: str, left: float) -> dict[str, Any]:
    x = 612 * left
    corners = [(x, 158.4), (x + 153, 158.4), (x + 153, 198), (x, 198)]
    place = {"page": {"number": 1, "width": 612, "height": 792}, "polygon": [{"x": x, "y": y} for x, y in corners]}
    cited = [{"referenceText": quote, **place}]
    return {"ocrConfidence": confidence, "logprobsConfidence": None, "citations": cited, "insights": []}


_BY_NAME = _all(_extend)
_BY_PATH = {
    **{name: said for name, said in _BY_NAME.items() if name != "items"},
    "items": {"ocrConfidence": None, "logprobsConfidence": None},
    **{f"items[{row}].{name}": said for row, item in enumerate(_BY_NAME["items"]) for name, said in item.items()},
}
EXTEND = {"object": "extract_run", "status": "PROCESSED", "output": {"value": BARE, "metadata": _BY_PATH}}


def _llama(_value: Any, confidence: float, quote: str, left: float) -> dict[str, Any]:
    place = {"page": 1, "page_dimensions": {"width": 612, "height": 792}}
    box = {"x": 612 * left, "y": 158.4, "w": 153, "h": 39.6}
    cited = [{"matching_text": quote, "bounding_boxes": [box], **place}]
    return {"confidence": confidence, "parsing_confidence": 0.99, "extraction_confidence": 0.96, "citation": cited}


LLAMAEXTRACT = {
    "data": BARE,
    "extraction_metadata": {"usage": {"num_pages_extracted": 1}, "field_metadata": _all(_llama)},
}


def _reference(text: str) -> list[dict[str, Any]]:
    box = {"left": 0.5, "top": 0.2, "right": 0.75, "bottom": 0.25}
    return [{"itemId": "1655", "page": 1, "text": text, "boundingBox": box}]


BOX = {
    "answer": BARE,
    "ai_agent_info": {"processor": "basic_text"},
    "completion_reason": "done",
    "confidence_score": _all(lambda _value, score, *_: {"level": "HIGH" if score >= 0.9 else "LOW", "score": score}),
    "reference": {
        "invoice_number": _reference("Invoice # US-001"),
        "total": _reference("TOTAL $154.06"),
        "items": [{}, {"amount": _reference("54.06")}],
    },
}


def _wrapped(value: Any, confidence: float, quote: str, _left: float) -> dict[str, Any]:
    place = {"page": 1, "quote": quote, "box": [0.5, 0.2, 0.75, 0.25]}
    return {"value": value, "confidence": confidence, "citations": [place]}


WRAPPER = {**_all(_wrapped), "due": {"value": None, "confidence": None, "citations": []}}

ANSWERS: dict[str, dict[str, Any]] = {
    "wrapper": WRAPPER,
    "reducto": REDUCTO,
    "extend": EXTEND,
    "llamaextract": LLAMAEXTRACT,
}
"""Answers by the name of the ready shape that each has."""
