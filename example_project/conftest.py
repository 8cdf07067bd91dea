"""The extractor under test: rules by default, the model of `--extract-model` when one is given."""

import pytest
import rules

from pytest_extract import LitellmExtractor


@pytest.fixture(scope="session")
def extractor(extract_model, extract_mode):
    if extract_model is None:
        return read_by_rules
    return LitellmExtractor(model=extract_model, mode=extract_mode)


def read_by_rules(document, schema, prompt):
    match schema["title"]:
        case "Invoice":
            return rules.read_invoice(words_of(document), prompt)
        case "Quarterly report":
            return rules.read_report(document.text)
        case "Product page":
            return rules.read_page(document.bytes.decode())


def words_of(document):
    """A scan has no text of its own: the OCR run of last night left it beside the image."""
    if document.media_type.startswith("image/"):
        return document.path.with_suffix(".txt").read_text(encoding="utf-8")
    return document.text
