"""One invoice as four services and a hand-written wrapper return it, written after their public manuals.

All hold the values of `BARE`, and what `METADATA` says of `invoice_number` and of the second item's amount.
"""

from __future__ import annotations

from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": "string"},
        "total": {"type": "number"},
        "due": {"type": ["string", "null"]},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "amount": {"type": "number"}},
            },
        },
    },
}
BARE: dict[str, Any] = {
    "invoice_number": "US-001",
    "total": 154.06,
    "due": None,
    "items": [{"name": "Brake cables", "amount": 100}, {"name": "Pedal variants", "amount": 54.06}],
}


def _reducto(value: Any, confidence: float, quote: str, left: float) -> dict[str, Any]:
    block = {"type": "Text", "content": quote, "confidence": "high"}
    place = {"left": left, "top": 0.2, "width": 0.25, "height": 0.05, "page": 1, "original_page": 1}
    scores = {"extract_confidence": confidence, "parse_confidence": 0.91}
    return {"value": value, "citations": [{**block, "bbox": place, "granular_confidence": scores}]}


REDUCTO = {
    "job_id": "9531166f",
    "usage": {"num_pages": 1, "num_fields": 7},
    "result": {
        "invoice_number": _reducto("US-001", 0.95, "Invoice # US-001", 0.5),
        "total": _reducto(154.06, 0.9, "TOTAL $154.06", 0.5),
        "due": {"value": None, "citations": []},
        "items": [
            {"name": _reducto("Brake cables", 0.9, "1 Brake cables", 0.1), "amount": _reducto(100, 0.9, "100.00", 0.5)},
            {
                "name": _reducto("Pedal variants", 0.9, "2 Pedal variants", 0.1),
                "amount": _reducto(54.06, 0.6, "54.06", 0.5),
            },
        ],
    },
}


def _extend(confidence: float, quote: str, left: int) -> dict[str, Any]:
    corners = [(left, 158.4), (left + 153, 158.4), (left + 153, 198), (left, 198)]
    page = {"number": 1, "width": 612, "height": 792}
    polygon = [{"x": x, "y": y} for x, y in corners]
    return {
        "ocrConfidence": confidence,
        "logprobsConfidence": None,
        "citations": [{"page": page, "referenceText": quote, "polygon": polygon}],
        "insights": [],
    }


EXTEND = {
    "object": "extract_run",
    "status": "PROCESSED",
    "output": {
        "value": BARE,
        "metadata": {
            "invoice_number": _extend(0.95, "Invoice # US-001", 306),
            "total": _extend(0.9, "TOTAL $154.06", 306),
            "items": {"ocrConfidence": None, "logprobsConfidence": None},
            "items[0].name": _extend(0.9, "1 Brake cables", 61),
            "items[0].amount": _extend(0.9, "100.00", 306),
            "items[1].name": _extend(0.9, "2 Pedal variants", 61),
            "items[1].amount": _extend(0.6, "54.06", 306),
        },
    },
}


def _llama(confidence: float, quote: str, left: int) -> dict[str, Any]:
    box = {"x": left, "y": 158.4, "w": 153, "h": 39.6}
    size = {"width": 612, "height": 792}
    cited = {"page": 1, "matching_text": quote, "bounding_boxes": [box], "page_dimensions": size}
    return {"confidence": confidence, "parsing_confidence": 0.99, "extraction_confidence": 0.96, "citation": [cited]}


LLAMAEXTRACT = {
    "data": BARE,
    "extraction_metadata": {
        "usage": {"num_pages_extracted": 1},
        "field_metadata": {
            "invoice_number": _llama(0.95, "Invoice # US-001", 306),
            "total": _llama(0.9, "TOTAL $154.06", 306),
            "items": [
                {"name": _llama(0.9, "1 Brake cables", 61), "amount": _llama(0.9, "100.00", 306)},
                {"name": _llama(0.9, "2 Pedal variants", 61), "amount": _llama(0.6, "54.06", 306)},
            ],
        },
    },
}


def _box(score: float) -> dict[str, Any]:
    return {"level": "HIGH" if score >= 0.9 else "LOW", "score": score}


def _reference(text: str) -> list[dict[str, Any]]:
    box = {"left": 0.5, "top": 0.2, "right": 0.75, "bottom": 0.25}
    return [{"itemId": "1655", "page": 1, "text": text, "boundingBox": box}]


BOX = {
    "answer": BARE,
    "ai_agent_info": {"processor": "basic_text"},
    "completion_reason": "done",
    "confidence_score": {
        "invoice_number": _box(0.95),
        "total": _box(0.9),
        "items": [{"name": _box(0.9), "amount": _box(0.9)}, {"name": _box(0.9), "amount": _box(0.6)}],
    },
    "reference": {
        "invoice_number": _reference("Invoice # US-001"),
        "total": _reference("TOTAL $154.06"),
        "items": [{}, {"amount": _reference("54.06")}],
    },
}


def _wrapped(value: Any, confidence: float | None, quote: str) -> dict[str, Any]:
    place = {"page": 1, "quote": quote, "box": [0.5, 0.2, 0.75, 0.25]}
    return {"value": value, "confidence": confidence, "citations": [place] if quote else []}


WRAPPER = {
    "invoice_number": _wrapped("US-001", 0.95, "Invoice # US-001"),
    "total": _wrapped(154.06, 0.9, "TOTAL $154.06"),
    "due": _wrapped(None, None, ""),
    "items": [
        {"name": _wrapped("Brake cables", 0.9, "Brake cables"), "amount": _wrapped(100, 0.9, "100.00")},
        {"name": _wrapped("Pedal variants", 0.9, "Pedal variants"), "amount": _wrapped(54.06, 0.6, "54.06")},
    ],
}

ANSWERS: dict[str, dict[str, Any]] = {
    "wrapper": WRAPPER,
    "reducto": REDUCTO,
    "extend": EXTEND,
    "llamaextract": LLAMAEXTRACT,
}
"""Answers by the name of the ready shape that each has."""
