"""The language: terms, formulas, models, their parsers and printers, clausal form, shapes."""
