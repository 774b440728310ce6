"""Data that sqlrl generates itself, so that a first run needs no download."""

from sqlrl.demo.bibliography import MODEL, Bibliography, generate

__all__ = ["MODEL", "Bibliography", "generate"]
