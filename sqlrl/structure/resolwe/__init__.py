"""resolwe: choosing structure from streaming relational data."""
